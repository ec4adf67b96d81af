"""The faces of a report: each makes Markdown, a page, DataFrames or metrics of the same blocks."""
