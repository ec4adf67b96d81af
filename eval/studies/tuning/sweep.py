"""The result of a sweep: the figures of every combination of settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from assay.eval.running.figures import Figures, PointResult
from assay.eval.runs.json_form import in_json, length, maybe, or_null, shape


@in_json(
    ...,
    but=("results",),
    points=shape(
        "points",
        spread=("0.figures",),
        front="1",
        settings="0.settings",
        collection="0.collection",
        failure=maybe(or_null("0.failure")),
    ),
    failed=length("failed"),
)
@dataclass(frozen=True)
class Sweep:
    """The result of a sweep.

    `results` are in the order of the file, collection by collection; `headline` is the measure
    by which points are sorted.
    """

    id: str
    name: str
    description: str
    headline: str
    created: str
    environment: Mapping[str, Any]
    results: tuple[PointResult, ...]

    @property
    def done(self) -> list[tuple[PointResult, Figures]]:
        """The results that have figures, each with its figures."""
        return [(item, item.figures) for item in self.results if item.figures]

    @property
    def failed(self) -> list[PointResult]:
        """The results without figures."""
        return [item for item in self.results if item.figures is None]

    @property
    def collections(self) -> list[str]:
        """The collections, in order."""
        return list(dict.fromkeys(item.collection for item in self.results))

    @property
    def keys(self) -> list[str]:
        """The keys that the points set, in order."""
        return list(dict.fromkeys(key for item in self.results for key in item.settings))

    @property
    def measures(self) -> list[str]:
        """The measures that all runs have."""
        runs = [figures.means for _, figures in self.done]
        return [name for name in (runs[0] if runs else ()) if all(name in run for run in runs)]

    @cached_property
    def front(self) -> list[PointResult]:
        """The results on the Pareto front of quality, p95 latency and cost of their collection.

        Cost counts if charging services are used. A result for which one of these is unknown,
        although it is known for others, is not on the front.
        """
        return [item for name in self.collections for item in self._find_front(name)]

    def charged(self, collection: str) -> bool:
        """Return True if some point on a collection uses services that may charge."""
        return any(figures.cost for _, figures in self.on(collection))

    def on(self, collection: str) -> list[tuple[PointResult, Figures]]:
        """Return the results on a collection that have figures, each with its figures."""
        return [(item, figures) for item, figures in self.done if item.collection == collection]

    def rank(self, collection: str) -> list[tuple[PointResult, Figures]]:
        """Return the results on a collection with their figures, highest headline mean first."""
        return sorted(self.on(collection), key=lambda pair: -pair[1].means[self.headline].value)

    def best(self, collection: str) -> PointResult | None:
        """Return the result with the highest mean on a collection, the first of equal ones."""
        ranked = self.rank(collection)
        return ranked[0][0] if ranked else None

    @property
    def points(self) -> list[tuple[PointResult, bool]]:
        """The results, each with True if it is on the Pareto front."""
        return [(item, item in self.front) for item in self.results]

    def _find_front(self, collection: str) -> list[PointResult]:
        done = self.on(collection)
        times = [figures.p95 for _, figures in done]
        prices = [figures.usd for _, figures in done] if self.charged(collection) else []
        regards = [known for known in (times, prices) if set(known) - {None}]
        if not regards:
            return []
        results, points = [], []
        for (item, figures), *values in zip(done, *regards, strict=True):
            costs = [value for value in values if value is not None]
            if len(costs) == len(regards):
                results.append(item)
                points.append((*costs, figures.means[self.headline].value))
        return [results[i] for i in find_front(points)]


def find_front(points: Sequence[Sequence[float]]) -> list[int]:
    """Return the indexes of the points on the Pareto front, by rising costs.

    A point has its costs and then its quality. It beats another if it is no worse in any cost or in
    quality, and better in one.
    """
    order = sorted(range(len(points)), key=lambda i: (*points[i][:-1], -points[i][-1]))
    front: list[int] = []
    for i in order:  # points that beat a point come before it
        if not any(_beats(points[other], points[i]) for other in front):
            front.append(i)
    return front


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    cheaper = all(cost <= beside for cost, beside in zip(one[:-1], other[:-1], strict=True))
    return cheaper and one[-1] >= other[-1] and list(one) != list(other)
