"""Sweeps: every point of a grid, raced or in full."""
