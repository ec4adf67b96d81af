"""Runs: made, timed, stored on disk, read again."""
