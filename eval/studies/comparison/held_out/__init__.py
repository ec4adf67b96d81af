"""Verdicts on questions that are held out: each look is counted."""
