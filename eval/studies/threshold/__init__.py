"""Threshold: from which score on a query has an answer."""
