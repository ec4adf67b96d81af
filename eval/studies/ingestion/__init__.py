"""Ingestion: what becomes of documents before a query is asked."""
