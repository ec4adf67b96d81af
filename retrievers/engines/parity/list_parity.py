"""Engines of vectors alone: what their list should be, beside what they return."""

from collections.abc import Iterator

from assay.retrievers.base import AssayError
from assay.retrievers.engines.base import Engine, EngineLists
from assay.retrievers.engines.parity.parity import Formulation, Observation
from assay.retrievers.fusion.ranking import best
from assay.retrievers.models.base import Vectors

DEPTH = 100


class ListObservation(Observation):
    """One query to an engine of vectors: what it returned, and in `lists` what that should be.

    These are whole, so that nothing is deeper. Raises AssayError where the engine has words alone:
    no formula of their scores is stated.
    """

    def __init__(self, engine: Engine, text: str, vector: Vectors, vectors: Vectors) -> None:
        if "dense" not in engine.searches:
            name = engine.metadata()["engine"]
            raise AssayError(f"{name}: no formula of its keyword scores is stated")
        self.depth = engine.depth
        self.limit = min(DEPTH, len(vectors))
        self.lists = EngineLists(list(best(vectors @ vector, len(vectors))), [])
        self.returned = engine.dense(vector, self.limit)
        self.deeper = self.lists


def vary_list(engine: Engine) -> Iterator[Formulation]:
    """Yield what could hold in place of the formula of an engine of vectors."""
    label = "the same scores, of the texts alone that were found"
    yield Formulation("approximate search", label, engine.formula, _keep_found)


def _keep_found(seen: Observation) -> EngineLists:
    """Return the dense list without what the engine did not find."""
    found = {position for position, _ in seen.returned}
    return EngineLists([pair for pair in seen.lists.dense if pair[0] in found], [])
