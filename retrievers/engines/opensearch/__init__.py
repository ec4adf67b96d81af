"""OpenSearch."""
