"""A vector for each token."""
