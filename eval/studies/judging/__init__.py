"""Judging: grades from people and language models, and their agreement."""
