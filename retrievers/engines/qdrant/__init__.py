"""Qdrant: in this process (`edge`) and as a server."""
