"""Engines that do not do what they say: real ones, with one thing changed inside `hybrid`."""

from collections.abc import Callable

from assay.retrievers.engines.base import Engine
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors

Lie = Callable[["FaultyEngine", str, Vectors], list[Scored]]


class FaultyEngine(Engine):
    """Gives the lists and the formula of `inner`, and fuses as `lie` says."""

    def __init__(self, inner, lie, stated=None):
        self.inner = inner
        self.depth = inner.depth
        self._lie = lie
        self._stated = stated

    def index(self, texts, vectors, identity):
        return self.inner.index(texts, vectors, identity)

    def dense(self, vector, limit):
        return self.inner.dense(vector, limit)

    def keyword(self, text, limit):
        return self.inner.keyword(text, limit)

    def hybrid(self, text, vector, limit):
        return self._lie(self, text, vector)[:limit]

    @property
    def formula(self):
        return self._stated or self.inner.formula

    def metadata(self):
        return self.inner.metadata()

    def close(self):
        self.inner.close()


def fuse_by(formula):
    """Fuse the right lists by another formula."""
    return lambda self, text, vector: formula.fuse(*self.lists(text, vector))


def fuse_lists(change):
    """Fuse other lists by the right formula."""
    return lambda self, text, vector: self.formula.fuse(
        *change(self.lists(text, vector), self, text, vector)
    )
