"""Ablation: what each part of a pipeline adds."""
