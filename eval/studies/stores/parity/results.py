"""All that is found of one engine on one collection, as one value."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.stores.engines.timing import TimingTable
from assay.eval.studies.stores.parity.examples import Example
from assay.eval.studies.stores.parity.quality import Quality
from assay.eval.studies.stores.parity.verdicts import QueryVerdict, conclude, count_verdicts


@dataclass(frozen=True)
class IndexCost:
    """What indexing took in the engine: texts, seconds of the work, bytes; `cached` if found."""

    texts: int
    seconds: float
    bytes: int
    cached: bool


@dataclass(frozen=True)
class Parity:
    """One engine with its settings on the queries of one collection.

    `identity` is that of the encoder: under the same name, other vectors have another one.
    `label` is the engine with those of its settings that are not as by default.
    `meaning` says what hybrid means in the engine: `assay.retrievers.engines.hybrid_semantics`.
    `recall` is of dense search against exact search by depth, empty where it is exact.
    """

    id: str
    engine: str
    label: str
    collection: str
    queries: int
    sampled: bool
    created: str
    encoder: str
    identity: str
    settings: Mapping[str, Any]
    facts: Mapping[str, Any]
    meaning: Mapping[str, Any]
    verdicts: Mapping[str, QueryVerdict]
    examples: tuple[Example, ...]
    quality: Quality
    timing: TimingTable | None
    index: IndexCost
    recall: Mapping[int, Estimate]
    environment: Mapping[str, Any]
    command: str

    @property
    def verdict(self) -> str:
        """The verdict on all queries: identical, identical but for ties, different."""
        return conclude(self.verdicts)

    @property
    def counts(self) -> dict[str, int]:
        """The number of queries by verdict."""
        return count_verdicts(self.verdicts)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        values = {
            "verdict": self.verdict,
            "counts": self.counts,
            "examples": [asdict(item) for item in self.examples],
            "verdicts": {
                query: verdict for query, verdict in self.verdicts.items() if verdict != "identical"
            },
            "measures": {
                system: {name: asdict(mean) for name, mean in means.items()}
                for system, means in self.quality.means.items()
            },
            "claim": self.quality.claims.as_json(),
            "against": {base: asdict(item) for base, item in self.quality.against.items()},
            "differences": [asdict(item) for item in self.quality.differences],
            "latency_ms": self.timing and asdict(self.timing),
            "index": asdict(self.index),
            "recall_against_exact": {
                str(depth): asdict(recall) for depth, recall in self.recall.items()
            },
        }
        told = ("quality", "timing", "recall")
        plain = {name: value for name, value in vars(self).items() if name not in told}
        return plain | values
