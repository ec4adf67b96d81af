"""PostgreSQL with pgvector: an embedded server, or any other."""
