"""Learned sparse vectors."""
