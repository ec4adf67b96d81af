"""Threshold: the score from which a query counts as answered."""
