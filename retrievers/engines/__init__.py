"""Engines: stores that search and fuse themselves. `kinds` has those a config can name."""
