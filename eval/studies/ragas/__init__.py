"""Ragas metrics compared with Assay's own measures."""
