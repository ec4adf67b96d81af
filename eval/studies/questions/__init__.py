"""Questions: a language model writes queries about passages of a collection."""
