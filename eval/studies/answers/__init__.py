"""Answers: what a language model answers from the retrieved passages."""
