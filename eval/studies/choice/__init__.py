"""Choosing a pipeline: candidates tried on some queries, and the best judged on the others."""
