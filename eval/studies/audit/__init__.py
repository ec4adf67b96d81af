"""Audit: what a published pair of means can show."""
