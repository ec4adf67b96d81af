"""Configs run on collections: cached, resumed, timed."""
