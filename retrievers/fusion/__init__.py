"""Fusion of ranked lists: normalisation of scores, and formulas."""
