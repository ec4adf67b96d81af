"""The formula of engines that fuse nothing: what their one list of vectors is."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.retrievers.engines.formulas import Formula
from assay.retrievers.fusion.ranking import Scored, ordered


@dataclass(frozen=True, slots=True)
class OneList(Formula):
    """Nothing is fused: the dense list of an engine, whose scores `says` describes."""

    says: str

    @property
    def statement(self) -> str:
        """What the scores are."""
        return self.says

    def _fuse(self, dense: Sequence[Scored], keyword: Sequence[Scored]) -> list[Scored]:
        return ordered(dense)


COSINE = OneList("the cosine of the vectors of query and text")
