"""The renderers of a report: Markdown, a page, DataFrames and metrics from the same blocks."""
