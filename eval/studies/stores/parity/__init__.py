"""Parity: an engine's own hybrid search beside our fusion of the same legs."""
