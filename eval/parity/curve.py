"""What approximate search trades: recall against latency, by the value of one setting."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from eval.statistics.estimates import Estimate

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
    latency: Mapping[int, Mapping[str, Estimate]]
    seconds: float
    bytes: int

    @property
    def exact(self) -> bool:
        """Whether it is exact search, which the others are compared with."""
        return self.value is None


@dataclass(frozen=True)
class Curve:
    """The points of one engine on the queries of one collection, exact search last."""

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
        return {
            "id": self.id,
            "engine": self.engine,
            "collection": self.collection,
            "key": self.key,
            "queries": self.queries,
            "sampled": self.sampled,
            "created": self.created,
            "encoder": self.encoder,
            "measure": self.measure,
            "settings": dict(self.settings),
            "facts": dict(self.facts),
            "points": [_point_as_json(point) for point in self.points],
            "command": self.command,
            "environment": dict(self.environment),
        }


def _point_as_json(point: Point) -> dict[str, Any]:
    return {
        "value": point.value,
        "label": point.label,
        "exact": point.exact,
        "recall": {str(depth): asdict(recall) for depth, recall in point.recall.items()},
        "quality": asdict(point.quality),
        "latency_ms": {
            str(depth): {name: asdict(at) for name, at in percentiles.items()}
            for depth, percentiles in point.latency.items()
        },
        "seconds": point.seconds,
        "bytes": point.bytes,
    }
