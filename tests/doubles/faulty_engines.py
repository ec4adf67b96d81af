"""Engines that do not do what they say: real ones, with one thing changed inside `hybrid`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.retrievers.base import IndexReport
from assay.retrievers.engines.base import Engine, EngineLists
from assay.retrievers.engines.formulas import Formula
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors

Lie = Callable[["FaultyEngine", str, Vectors], list[Scored]]


class FaultyEngine(Engine):
    """Gives the lists and the formula of `inner`, and fuses as `lie` says."""

    def __init__(self, inner: Engine, lie: Lie, stated: Formula | None = None) -> None:
        self.inner = inner
        self.depth = inner.depth
        self._lie = lie
        self._stated = stated

    def index(self, texts: Sequence[str], vectors: Vectors, identity: str) -> IndexReport:
        return self.inner.index(texts, vectors, identity)

    def dense(self, vector: Vectors, limit: int) -> list[Scored]:
        return self.inner.dense(vector, limit)

    def keyword(self, text: str, limit: int) -> list[Scored]:
        return self.inner.keyword(text, limit)

    def hybrid(self, text: str, vector: Vectors, limit: int) -> list[Scored]:
        return self._lie(self, text, vector)[:limit]

    @property
    def formula(self) -> Formula:
        return self._stated or self.inner.formula

    def metadata(self) -> Mapping[str, Any]:
        return self.inner.metadata()

    def close(self) -> None:
        self.inner.close()


def fuse_by(formula: Formula) -> Lie:
    """Fuse the right lists by another formula."""
    return lambda self, text, vector: formula.fuse(*self.lists(text, vector))


def fuse_lists(change: Callable[[EngineLists, "FaultyEngine", str, Vectors], EngineLists]) -> Lie:
    """Fuse other lists by the right formula."""
    return lambda self, text, vector: self.formula.fuse(
        *change(self.lists(text, vector), self, text, vector)
    )
