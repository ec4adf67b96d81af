"""Answers: replies of a language model to the queries, from the retrieved passages."""
