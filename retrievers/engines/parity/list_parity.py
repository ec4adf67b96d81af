"""Engines of one list: what it should be by their documents, beside what they return."""

from collections.abc import Iterator

from assay.retrievers.engines.base import Engine, EngineLists
from assay.retrievers.engines.parity.parity import Formulation, Observation
from assay.retrievers.fusion.ranking import best
from assay.retrievers.models.base import Vectors

DEPTH = 100


class ListObservation(Observation):
    """One query to an engine of one list: what it returned, and in `lists` what that should be.

    These are whole, so that nothing is deeper.
    """

    def __init__(self, engine: Engine, text: str, vector: Vectors, vectors: Vectors) -> None:
        self.depth = engine.depth
        self.limit = min(DEPTH, len(vectors))
        if "dense" in engine.searches:
            self.lists = EngineLists(list(best(vectors @ vector, len(vectors))), [])
            self.returned = engine.dense(vector, self.limit)
        else:
            self.lists = EngineLists([], engine.score_terms(text))
            self.returned = engine.keyword(text, self.limit)
        self.deeper = self.lists


def vary_list(engine: Engine) -> Iterator[Formulation]:
    """Yield what could hold in place of the formula of an engine of one list."""
    if "dense" in engine.searches:
        label = "the same scores, of the texts alone that were found"
        yield Formulation("approximate search", label, engine.formula, _keep_found)


def _keep_found(seen: Observation) -> EngineLists:
    """Return the dense list without what the engine did not find."""
    found = {position for position, _ in seen.returned}
    return EngineLists([pair for pair in seen.lists.dense if pair[0] in found], [])
