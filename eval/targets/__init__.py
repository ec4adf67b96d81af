"""Targets: success criteria, measured, each with a verdict."""

from eval.targets.measuring import Laboratory, measure_targets
from eval.targets.results import Line, Results, TargetResult
from eval.targets.settings import TargetsSettings
from eval.targets.verdict import Limits, Verdict, conclude, judge

__all__ = [
    "Laboratory",
    "Limits",
    "Line",
    "Results",
    "TargetResult",
    "TargetsSettings",
    "Verdict",
    "conclude",
    "judge",
    "measure_targets",
]
