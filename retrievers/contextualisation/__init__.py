"""Contexts from a language model, put before each chunk in every index."""
