"""DuckDB with its extensions fts and vss."""
