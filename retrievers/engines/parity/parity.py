"""The list that an engine's fusion returned, and the one its stated formula gives."""

from assay.retrievers.engines.base import Engine, EngineLists
from assay.retrievers.engines.parity.ties import settle_ties
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors

DEEPER = 4  # factor by which this looks deeper than the engine's settings
DEEPEST = 1000


class Observation:
    """One query to an engine of `texts` texts: its two lists, each fetched alone, and its fusion.

    `returned` are the fused texts, `limit` the most that it can have returned.
    """

    def __init__(self, engine: Engine, text: str, vector: Vectors, texts: int) -> None:
        self._engine = engine
        self._text = text
        self._vector = vector
        self._texts = texts
        self._formula = engine.formula
        self.lists = engine.lists(text, vector)
        asked = min(DEEPER * (engine.depth.dense + engine.depth.keyword), texts)
        self.returned = engine.hybrid(text, vector, asked)
        most = self._formula.most
        self.limit = asked if most is None else min(asked, most)

    def fuse(self) -> list[Scored]:
        """Return the fused list, whole: a text beyond the limit may be as good as one within."""
        return self._formula.fuse_whole(*self.lists)

    def settle(self) -> list[Scored]:
        """Return the fused list, with equal scores within each list ordered as in `returned`.

        Texts that tie with the last of a list are fetched from the engine by deeper searches.
        """
        deeper = EngineLists(
            self._engine.dense(self._vector, self._deepen(self._engine.depth.dense)),
            self._engine.keyword(self._text, self._deepen(self._engine.depth.keyword)),
        )
        settled = settle_ties(self._formula, self.lists, deeper, self.returned)
        return self._formula.fuse_whole(*settled)

    def _deepen(self, depth: int) -> int:
        return min(max(DEEPER * depth, DEEPEST), self._texts)
