"""The parity result of one engine on one collection."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.eval.runs.json_form import in_json
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


@in_json(..., "verdict", "counts", but=("claims",), verdicts="different", claim="claims")
@dataclass(frozen=True)
class Parity(EngineFinding):
    """The parity of one engine with its settings on the queries of one collection.

    Attributes:
        label: The engine, with its settings that differ from the defaults.
        passages: The number of passages.
        identity: The identity of the encoder, which differs if its vectors differ.
        meaning: The hybrid search of the engine: see `assay.retrievers.engines.hybrid_semantics`.
        verdicts: The verdict by query id.
        examples: Queries that differ.
        measures: The means by system and measure.
        differences: The differences native minus ours, adjusted over measures.
        claims: The claims that the queries support.
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

    @property
    def different(self) -> dict[str, QueryVerdict]:
        """The verdicts on queries that are not identical."""
        return {query: told for query, told in self.verdicts.items() if told != "identical"}
