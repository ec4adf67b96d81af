"""Shared code of the servers' adapters: names of indexes, collections, connections."""
