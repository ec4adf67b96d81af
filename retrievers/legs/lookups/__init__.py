"""Sections, headings and phrases that a query names."""
