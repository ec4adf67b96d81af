"""A table with shaded cells: the means of points over two of their axes."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from assay.eval.report.blocks import Column, Table
from assay.eval.running.search_space import Point, describe
from assay.eval.runs.config_keys import shorten

MOST_COLUMNS = 14


def map_points(points: Sequence[tuple[Point, float]], key: str, measure: str) -> Table | None:
    """Return the means of `points` over the two axes with the most values.

    Returns None if fewer than two axes have two values, or the narrower one does not fit a page.
    """
    values = _list_values(point for point, _ in points)
    chosen = sorted(values, key=lambda name: -len(values[name]))[:2]
    if len(chosen) < 2 or len(values[chosen[1]]) > MOST_COLUMNS:
        return None
    down, across = chosen
    cells: dict[tuple[str, str], list[float]] = {}
    for point, mean in points:
        if down in point and across in point:
            place = describe(point[down]), describe(point[across])
            cells.setdefault(place, []).append(mean)
    means = {place: fmean(found) for place, found in cells.items()}
    names = shorten(values)
    columns = [
        Column("value", f"{names[down]} ↓ {names[across]} →", value=lambda row: row),
        *(
            Column(told, told, "score", partial(_find, means, told))
            for told in map(describe, values[across])
        ),
    ]
    others = ", ".join(names[name] for name in values if name not in chosen)
    several = any(len(found) > 1 for found in cells.values())
    averaged = f" Each cell is the mean over {others}." if several else ""
    return Table(
        key,
        f"{measure} by two axes",
        columns,
        [describe(value) for value in values[down]],
        note=f"Darker is higher.{averaged}",
        shaded=True,
        brief=False,
    )


def _find(means: Mapping[tuple[str, str], float], across: str, down: str) -> float | None:
    return means.get((down, across))


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
