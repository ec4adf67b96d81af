"""Scores of single queries in the base and the other runs, as JSON values for the page."""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.eval.report.formats import score
from assay.eval.report.plots import LinearAxis
from assay.eval.statistics.significance import TIE
from assay.eval.studies.comparison.comparison import Comparison
from assay.eval.studies.comparison.pair import Pair

# Distances within which two points share a dot; the smallest that leaves few enough is used.
STEPS = (0.001, 0.01, 0.02, 0.05, 0.1)
MOST_DOTS = 400
ONE_DOT, SMALLEST_DOT, LARGEST_DOT = 3.5, 3.0, 24.0  # radius in pixels
DIGITS = 6


def find_axes(compared: Comparison) -> dict[str, LinearAxis]:
    """Return the axis for the scores of all runs, by measure."""
    return {name: _score_axis(compared, name) for name in compared.measures}


def describe_measures(axes: Mapping[str, LinearAxis]) -> list[dict[str, Any]]:
    """Return the measures with their axes."""
    found = []
    for name, axis in axes.items():
        values = [axis.low + (axis.high - axis.low) * part / 4 for part in range(5)]
        ticks = [[axis.place(value), f"{value:.4g}"] for value in values]
        found.append({"name": name, "ticks": ticks})
    return found


def describe_pair(
    compared: Comparison, pair: Pair, axes: Mapping[str, LinearAxis]
) -> dict[str, Any]:
    """Return the gain of each query with the other run, and the dots of the scatter, by measure."""
    queries = list(compared.base.run.queries)
    found: dict[str, Any] = {"differences": [], "outcomes": [], "scatter": []}
    for name in compared.measures:
        scores = pair.scores(name)
        both = [scores[query] for query in queries]
        differences = [new - old for old, new in both]
        found["differences"].append([round(value, DIGITS) for value in differences])
        found["outcomes"].append("".join(map(tell_outcome, differences)))
        found["scatter"].append(place_dots(both, axes[name]))
    return found


def list_scores(compared: Comparison, query: str) -> list[list[float]]:
    """Return the scores of a query by measure, first of the base and then of the others."""
    return [
        [round(summary.scores[name][query], DIGITS) for summary in compared.summaries]
        for name in compared.measures
    ]


def tell_outcome(difference: float) -> str:
    """Return `+` if a query gains, `-` if it loses, `=` if it ties."""
    if abs(difference) <= TIE:
        return "="
    return "+" if difference > 0 else "-"


def place_dots(scores: Sequence[tuple[float, float]], axis: LinearAxis) -> dict[str, Any]:
    """Return the dots of (base, other) `scores`, from the greatest loss to the greatest gain.

    Scores within `step` of one another share a dot, whose area grows with their number.
    A dot is placed in percent of the axis and holds the places of its scores in the sequence.
    """
    span = axis.high - axis.low
    for step in STEPS:
        groups = _group(scores, step * span)
        if len(groups) <= MOST_DOTS:
            break
    most = max(map(len, groups.values()), default=1)
    unit = min(ONE_DOT, LARGEST_DOT / most**0.5)
    dots = []
    for places in groups.values():
        base = sum(scores[i][0] for i in places) / len(places)
        other = sum(scores[i][1] for i in places) / len(places)
        dots.append(
            {
                "x": axis.place(base),
                "y": round(100 - axis.place(other), 2),
                "radius": round(max(unit * len(places) ** 0.5, SMALLEST_DOT), 1),
                "base": score(base),
                "other": score(other),
                "gain": round(other - base, DIGITS),
                "outcome": tell_outcome(other - base),
                "queries": places,
            }
        )
    dots.sort(key=lambda dot: (dot["gain"], dot["x"]))
    return {"step": step * span, "dots": dots}


def _group(
    scores: Sequence[tuple[float, float]], step: float
) -> Mapping[tuple[int, int, str], list[int]]:
    """Return the places of scores by their point on a grid and their outcome."""
    groups: dict[tuple[int, int, str], list[int]] = {}
    for i, (base, other) in enumerate(scores):
        key = round(base / step), round(other / step), tell_outcome(other - base)
        groups.setdefault(key, []).append(i)
    return groups


def _score_axis(compared: Comparison, name: str) -> LinearAxis:
    """Return the axis from 0 to 1, or a wider one if the scores of a measure exceed that."""
    scores = [summary.scores[name] for summary in compared.summaries]
    values = [value for found in scores for value in found.values()]
    low, high = min([0.0, *values]), max([1.0, *values])
    return LinearAxis(low, high)
