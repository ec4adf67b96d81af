"""Ragas metrics beside Assay's own measures."""
