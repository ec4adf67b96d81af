"""Ablation: the quality that each part of a pipeline adds."""
