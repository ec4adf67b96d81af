"""What approximate search trades: recall against latency, by a setting and by filters."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from assay.eval.statistics.estimates import Estimate, OpenEstimate

MEASURE = "nDCG@10"
# Passages that a search is asked for: many indexes look at no fewer candidates than that.
DEPTHS = (10, 100)


@dataclass(frozen=True)
class Point:
    """Dense search with one value of the setting; `value` is None for exact search.

    `share` of the passages may be found, 1 where nothing is filtered. By the depth that is searched
    to, `recall` is against exact search among these, `latency` p50 and p95 in milliseconds.
    `quality` is the measure of the list to the smallest, None where a filter may hide what is
    relevant; `seconds` and `bytes` are of the index.
    """

    value: Any
    label: str
    share: float
    recall: Mapping[int, Estimate]
    quality: Estimate | None
    latency: Mapping[int, Mapping[str, OpenEstimate]]
    seconds: float
    bytes: int

    @property
    def exact(self) -> bool:
        """Whether it is exact search, which the others are compared with."""
        return self.value is None

    @property
    def name(self) -> str:
        """The label, with the share of passages that may be found where it is not all."""
        return self.label if self.share == 1 else f"{self.label}, filter {100 * self.share:g} %"

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        values = asdict(self) | {"exact": self.exact}
        latency = values.pop("latency")
        return values | {
            "recall": {str(depth): recall for depth, recall in values["recall"].items()},
            "latency_ms": {str(depth): percentiles for depth, percentiles in latency.items()},
        }


@dataclass(frozen=True)
class Curve:
    """The points of one engine on the queries of one collection, exact search, if any, last.

    `key` is empty where no setting is varied. Each value has a point without a filter, and then one
    for each share of `filters`.
    """

    id: str
    engine: str
    collection: str
    key: str
    filters: tuple[float, ...]
    queries: int
    sampled: bool
    created: str
    encoder: str
    settings: Mapping[str, Any]
    facts: Mapping[str, Any]
    points: tuple[Point, ...]
    environment: Mapping[str, Any]
    command: str
    measure: str = MEASURE

    @property
    def axes(self) -> str:
        """What is varied, in words."""
        return " and ".join(filter(None, (self.key, "filter" if self.filters else "")))

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return vars(self) | {"points": [point.as_json() for point in self.points]}
