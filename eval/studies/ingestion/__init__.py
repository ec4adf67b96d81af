"""Ingestion: the preparation of documents before a query is asked."""
