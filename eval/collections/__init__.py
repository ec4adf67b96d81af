"""Judged collections: their cards, their formats, loading, checking and making them."""
