"""Tantivy."""
