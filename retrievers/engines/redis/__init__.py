"""Redis with its query engine, a server."""
