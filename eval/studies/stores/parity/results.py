"""All that is found of one engine on one collection, as one value."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from assay.eval.runs.summary.claims import Claims
from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.comparison.differences import Difference
from assay.eval.studies.stores.engines.engine_bench import EngineFinding
from assay.eval.studies.stores.parity.verdicts import (
    Example,
    QueryVerdict,
    conclude,
    count_verdicts,
)


@dataclass(frozen=True)
class Parity(EngineFinding):
    """One engine with its settings on the queries of one collection.

    `identity` is that of the encoder: under the same name, other vectors have another one.
    `label` is the engine with those of its settings that are not as by default.
    `meaning` says what hybrid means in the engine: `assay.retrievers.engines.hybrid_semantics`.
    `measures` are means by system and measure; `differences` are native minus ours, adjusted over
    measures. `claims` are what the queries can be a verdict on.
    """

    label: str
    passages: int
    identity: str
    meaning: Mapping[str, Any]
    verdicts: Mapping[str, QueryVerdict]
    examples: tuple[Example, ...]
    measures: Mapping[str, Mapping[str, Estimate]]
    differences: tuple[Difference, ...]
    claims: Claims

    @property
    def verdict(self) -> str:
        """The verdict on all queries: identical, identical but for ties, different."""
        return conclude(self.verdicts)

    @property
    def counts(self) -> dict[str, int]:
        """The number of queries by verdict."""
        return count_verdicts(self.verdicts)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values; of queries that are identical only their number."""
        values = asdict(self)
        del values["claims"]
        return values | {
            "verdict": self.verdict,
            "counts": self.counts,
            "verdicts": {
                query: verdict for query, verdict in self.verdicts.items() if verdict != "identical"
            },
            "claim": self.claims.as_json(),
        }
