"""Parity: whether an engine's hybrid query gives what its stated formula makes of its two lists."""
