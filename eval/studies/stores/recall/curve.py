"""What approximate search trades: recall against latency, by a setting and by filters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.stores.engines.engine_bench import EngineFinding, Percentiles

MEASURE = "nDCG@10"
# Passages that a search is asked for: many indexes look at no fewer candidates than that.
DEPTHS = (10, 100)


@dataclass(frozen=True)
class Point:
    """Dense search with one value of the setting; `value` is None for exact search.

    `share` of the passages may be found, 1 where nothing is filtered. By the depth that is searched
    to, `recall` is against exact search among these, `latency_ms` p50 and p95.
    `quality` is the measure of the list to the smallest, None where a filter may hide what is
    relevant; `seconds` and `bytes` are of the index.
    """

    value: Any
    label: str
    share: float
    recall: Mapping[int, Estimate]
    quality: Estimate | None
    latency_ms: Mapping[int, Percentiles]
    seconds: float
    bytes: int

    @property
    def exact(self) -> bool:
        """Whether it is exact search, which the others are compared with."""
        return self.value is None

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {**TypeAdapter(Point).dump_python(self, mode="json"), "exact": self.exact}


@dataclass(frozen=True)
class Curve(EngineFinding):
    """The points of one engine on the queries of one collection, exact search, if any, last.

    `key` is empty where no setting is varied. Each value has a point without a filter, and then one
    for each share of `filters`.
    """

    key: str
    filters: tuple[float, ...]
    points: tuple[Point, ...]
    measure: str = MEASURE

    @property
    def axes(self) -> str:
        """What is varied, in words."""
        return " and ".join(filter(None, (self.key, "filter" if self.filters else "")))

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return vars(self) | {"points": [point.as_json() for point in self.points]}
