"""Parity: an engine's own hybrid search compared with our fusion of the same legs."""
