"""The figures of one run, computed from what is stored."""
