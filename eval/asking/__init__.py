"""What rooms that ask a language model know of it: a question in, a reply out."""
