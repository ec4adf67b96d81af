"""One run: its page, its DataFrame, the list of runs, and their verification."""
