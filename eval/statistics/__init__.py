"""Statistics of plain numbers: intervals, tests, power. Nothing here knows of retrieval."""
