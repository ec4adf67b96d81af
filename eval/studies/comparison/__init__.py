"""Comparison: do runs differ, by how much, and on which queries."""
