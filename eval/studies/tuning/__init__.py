"""Tuning: the best settings, and their cross-validated gain."""
