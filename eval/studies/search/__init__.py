"""Search: what a pipeline returns for a query, without judgments."""
