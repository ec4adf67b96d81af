"""Collections whose documents are edited: judgments are found again in the new versions."""
