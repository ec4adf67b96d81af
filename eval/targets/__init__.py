"""Targets: success criteria, measured, each with a verdict."""

from eval.targets.measuring import TargetMeasurer, measure_targets
from eval.targets.results import Line, Results, TargetResult
from eval.targets.settings import TargetsSettings
from eval.targets.verdict import Limits, Verdict, conclude, judge

__all__ = [
    "Limits",
    "Line",
    "Results",
    "TargetMeasurer",
    "TargetResult",
    "TargetsSettings",
    "Verdict",
    "conclude",
    "judge",
    "measure_targets",
]
