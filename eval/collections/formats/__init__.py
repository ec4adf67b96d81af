"""The formats in which collections are stored, and the readers of each."""
