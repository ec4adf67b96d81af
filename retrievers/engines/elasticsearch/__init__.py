"""Elasticsearch."""
