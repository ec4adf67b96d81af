"""Recall and speed of approximate search."""
