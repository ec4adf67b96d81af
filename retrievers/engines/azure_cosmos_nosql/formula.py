"""How Azure Cosmos DB fuses: its service scores, its client library ranks and adds."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from assay.retrievers.engines.formulas import Formula, state_weights
from assay.retrievers.fusion.ranking import Scored, ordered


@dataclass(frozen=True, slots=True)
class UnitedRanks(Formula):
    """Reciprocal rank fusion of all texts that either list holds, by their scores in both.

    Equal scores share a rank, and the next score has the next rank. What a list lacks has the
    lowest score there: to full-text search it shares no term. Source: the package azure-cosmos,
    _execution_context/hybrid_search_aggregator.py.
    """

    k: int
    weights: tuple[float, float]

    @property
    def statement(self) -> str:
        """The formula in one line."""
        return (
            f"sum over both lists of weight / ({self.k} + rank), ranks from 1 among all texts of "
            "both, equal scores share one, what a list lacks comes last there, "
            f"{state_weights(self.weights)}"
        )

    def fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        """Return the fused list."""
        united = {position for position, _ in (*dense, *keyword)}
        scores: dict[int, float] = defaultdict(float)
        for found, weight in zip((dense, keyword), self.weights, strict=True):
            rank, before = 0, None
            for position, score in found:
                rank += score != before
                before = score
                scores[position] += weight / (self.k + rank)
            for position in united.difference(position for position, _ in found):
                scores[position] += weight / (self.k + rank + 1)
        return ordered(scores.items())
