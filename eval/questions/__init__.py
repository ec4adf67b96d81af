"""Questions that a language model writes about documents, and what is done to believe them."""
