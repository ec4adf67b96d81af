"""Collections whose documents are edited: judgments that are found again in what became of them."""
