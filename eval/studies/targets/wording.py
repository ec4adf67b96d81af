"""Limits of targets in words."""

from collections.abc import Mapping

from assay.eval.studies.targets.results import Unit
from assay.eval.studies.targets.verdict import Levels, Limits

SUFFIXES: Mapping[Unit, str] = {"ms": " ms", "s": " s"}


def describe_limits(limits: Limits, unit: Unit, levels: Levels | None = None) -> str:
    """Return limits in words: `≥ +20 %`, `≥ 10 % and ≤ 40 %`; nothing where there are none.

    Behind them stand the levels: `≤ 500 ms, alert > 600 ms, page > 1,000 ms`.
    """
    parts = [f"{sign} {_limit(value, unit)}" for sign, value in limits.items() if value is not None]
    levels = levels or Levels()
    beyond = ">" if levels.rising else "<"
    told = [
        f"{name} {beyond} {_limit(value, unit)}"
        for name, value in levels.items()
        if value is not None
    ]
    return ", ".join([" and ".join(parts), *told])


def _limit(value: float, unit: Unit) -> str:
    if unit == "change":
        return f"{100 * value:+.3g} %"
    if unit == "share":
        return f"{100 * value:.3g} %"
    return f"{value:,.5g}{SUFFIXES.get(unit, '')}"
