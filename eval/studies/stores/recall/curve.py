"""The trade-off of approximate search, recall against latency, by a setting and by filters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.eval.runs.json_form import in_json
from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.stores.engines.engine_bench import EngineFinding, Percentiles

MEASURE = "nDCG@10"
# Numbers of passages requested: many indexes examine at least as many candidates.
DEPTHS = (10, 100)


@in_json(..., "exact")
@dataclass(frozen=True)
class Point:
    """Dense search with one value of the setting.

    Attributes:
        value: The value; None for exact search.
        label: The value in words.
        share: The share of the passages that the filter allows; 1 without a filter.
        recall: The recall against exact search among these passages, by depth.
        quality: The measure of the list of the smallest depth; None with a filter, which may hide
            relevant passages.
        latency_ms: p50 and p95, by depth.
        seconds: The time of indexing.
        bytes: The size of the index.
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
        """True for exact search, the reference of the others."""
        return self.value is None


@dataclass(frozen=True)
class Curve(EngineFinding):
    """The points of one engine on the queries of one collection, exact search, if any, last.

    `key` is empty if no setting is varied. Each value has a point without a filter, and then one
    for each share of `filters`.
    """

    key: str
    filters: tuple[float, ...]
    points: tuple[Point, ...]
    measure: str = MEASURE

    @property
    def axes(self) -> str:
        """The varied setting and filter, in words."""
        return " and ".join(filter(None, (self.key, "filter" if self.filters else "")))
