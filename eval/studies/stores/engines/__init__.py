"""Speed, size and quality of engines on the same collection."""
