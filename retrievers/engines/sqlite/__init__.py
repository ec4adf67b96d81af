"""SQLite with FTS5 and sqlite-vec."""
