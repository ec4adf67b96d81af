"""Search: the results of a pipeline for a query, without judgments."""
