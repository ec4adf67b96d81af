"""What approximate search trades: recall against latency, by the value of one setting."""

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

    By the depth that is searched to, `recall` is against exact search, `latency` p50 and p95 in
    milliseconds. `quality` is the measure of the list to the smallest; `seconds` and `bytes` are
    of the index.
    """

    value: Any
    label: str
    recall: Mapping[int, Estimate]
    quality: Estimate
    latency: Mapping[int, Mapping[str, OpenEstimate]]
    seconds: float
    bytes: int

    @property
    def exact(self) -> bool:
        """Whether it is exact search, which the others are compared with."""
        return self.value is None

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
    """The points of one engine on the queries of one collection, exact search, if any, last."""

    id: str
    engine: str
    collection: str
    key: str
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

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return vars(self) | {"points": [point.as_json() for point in self.points]}
