"""Comparison: differences between runs, their size, and the queries they come from."""
