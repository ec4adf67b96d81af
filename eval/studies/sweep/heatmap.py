"""A heat map of points over two of their axes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from assay.eval.running.search_space import Point, describe
from assay.eval.runs.config_keys import shorten

SHADES = 9  # of the style sheet, from 0 for the lowest mean to this one for the highest
MOST_COLUMNS = 14


@dataclass(frozen=True, slots=True)
class Cell:
    """The mean of the points with two values, in words, and its shade."""

    text: str
    shade: int
    best: bool


@dataclass(frozen=True, slots=True)
class Heatmap:
    """Means by the values of the axes `down` and `across`; a cell without points is None.

    `averaged` says in words what the cells average over, "" where each is one point.
    """

    down: str
    across: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell | None, ...]], ...]
    averaged: str


def make_heatmap(
    points: Sequence[tuple[Point, float]], shape: Callable[[float], str]
) -> Heatmap | None:
    """Return the map of points with their means over the two axes of most values.

    None where fewer than two axes have two values, or the narrower has more than fit a page.
    """
    values = _list_values(point for point, _ in points)
    chosen = sorted(values, key=lambda key: -len(values[key]))[:2]
    if len(chosen) < 2 or len(values[chosen[1]]) > MOST_COLUMNS:
        return None
    down, across = chosen
    grid = [
        [
            [
                mean
                for point, mean in points
                if (point.get(down), point.get(across)) == (row, column)
            ]
            for column in values[across]
        ]
        for row in values[down]
    ]
    means = [fmean(cell) for row in grid for cell in row if cell]
    low, high = min(means), max(means)
    names = shorten(values)

    def draw(found: list[float]) -> Cell | None:
        if not found:
            return None
        mean = fmean(found)
        share = (mean - low) / (high - low) if high > low else 0
        return Cell(shape(mean), round(share * SHADES), mean == high)

    others = [names[key] for key in values if key not in chosen]
    several = any(len(cell) > 1 for row in grid for cell in row)
    return Heatmap(
        down=names[down],
        across=names[across],
        columns=tuple(map(describe, values[across])),
        rows=tuple(
            (describe(value), tuple(map(draw, row)))
            for value, row in zip(values[down], grid, strict=True)
        ),
        averaged=", ".join(others) if several else "",
    )


def _list_values(points: Iterable[Point]) -> dict[str, list[Any]]:
    """Return the values of each axis that varies, each once, numbers in their order."""
    found: dict[str, list[Any]] = {}
    for point in points:
        for key, value in point.items():
            if value not in found.setdefault(key, []):
                found[key].append(value)
    return {
        key: sorted(items) if all(isinstance(item, int | float) for item in items) else items
        for key, items in found.items()
        if len(items) > 1
    }
