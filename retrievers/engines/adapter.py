"""The base of the engines' adapters: find or build one index, then search it."""

import copy
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, count
from operator import itemgetter, le
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from assay.retrievers.base import AssayError, IndexReport
from assay.retrievers.engines.base import (
    Engine,
    EngineLists,
    StoreSettings,
    check_dimensions,
)
from assay.retrievers.engines.capabilities import Search
from assay.retrievers.engines.formulas import Formula
from assay.retrievers.engines.recall import measure_recall
from assay.retrievers.fusion.ranking import Positions, Scored, ordered
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources, name_type
from assay.retrievers.settings.parts import find_source
from assay.retrievers.store.digest import digest, digest_texts

S = TypeVar("S", bound="AdapterSettings")
H = TypeVar("H")
# Stores refuse more hits, or give no more; a longer list is asked for as it is.
DEEPEST = 10_000
_SCORE = itemgetter(1)


class StoredIndex(NamedTuple):
    """A complete index: the seconds that it took to build, its bytes, True if it was cached."""

    seconds: float
    bytes: int
    cached: bool


class Listed(NamedTuple):
    """The texts that a filter lists: those that may be found, or with `others` all the others."""

    positions: list[int]
    others: bool


@dataclass(frozen=True, slots=True)
class Allowed:
    """The positions that may be found, in ascending order, of an index of `texts` texts."""

    positions: Positions
    texts: int

    def tolist(self) -> list[int]:
        """Return the positions that may be found."""
        found: list[int] = self.positions.tolist()
        return found

    @property
    def fewer(self) -> Listed:
        """The shorter of two lists: of the texts that may be found, or of the others."""
        if 2 * len(self.positions) <= self.texts:
            return Listed(self.tolist(), others=False)
        others = np.delete(np.arange(self.texts), self.positions)
        return Listed(others.tolist(), others=True)


class AdapterSettings(StoreSettings):
    """Settings that say by themselves what the engine is."""

    def make_formula(self) -> Formula:
        """Return the fusion formula; for an engine that fuses nothing, that of its one list."""
        raise NotImplementedError

    def list_shape(self) -> list[Any]:
        """Return the settings on which an index depends; others affect searches only."""
        return []

    def is_exact(self, texts: int) -> bool:
        """Return True if dense search in `texts` texts compares the query with every vector."""
        return bool(getattr(self, "exact", True))


class Adapter(Engine, Generic[S, H]):
    """An engine with its settings; `_opened` is the open index, None if nothing is indexed.

    A subclass stores and releases an index, and implements each search that its capabilities name.
    Equal scores are ordered by position here, unless a subclass does so for its dense list. Within
    the lists that an engine fuses itself, their order is the engine's.
    """

    revision: ClassVar[int] = 1  # raise an adapter's when it comes to store other things
    _sorts_dense: ClassVar[bool] = False
    _allowed: Allowed | None = None

    def __init__(self, settings: S, resources: Resources) -> None:
        self.depth = settings.depth
        self.searches = settings.searches
        self.name = name_type(type(settings))
        self._settings = settings
        self._resources = resources
        self._opened: H | None = None
        self._texts = 0
        self._dimensions = 0
        self._facts: dict[str, Any] = {}

    def index(self, texts: Sequence[str], vectors: Vectors, identity: str) -> IndexReport:
        """Find the index, or make it, and open it."""
        self.close()
        if not texts:
            return IndexReport(0)
        try:
            self._texts, self._dimensions = vectors.shape
            self._opened, stored = self._store(texts, vectors, identity)
            if not self._exact:
                self._facts["recall_against_exact"] = measure_recall(self.dense, vectors)
        except BaseException:
            self.close()
            raise
        return IndexReport(
            chunks=len(texts),
            seconds={"engine": stored.seconds},
            bytes=stored.bytes,
            cached=("engine",) if stored.cached else (),
        )

    def dense(self, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine."""
        if self._opened is None:
            return []
        self._check("dense", vector)
        opened = self._opened
        found = _widen(lambda n: self._search_dense(opened, vector, n), limit, self._exact)
        return found[:limit] if self._sorts_dense else _sort(found)[:limit]

    def keyword(self, text: str, limit: int) -> list[Scored]:
        """Return the texts of greatest score that share terms with `text`."""
        if (opened := self._opened) is None:
            return []
        return _sort(_widen(lambda n: self._search_keyword(opened, text, n), limit))[:limit]

    def hybrid(self, text: str, vector: Vectors, limit: int) -> list[Scored]:
        """Return the fused texts; a list of weight 0 contributes none."""
        if self._opened is None:
            return []
        self._check("hybrid", vector)
        counts, depth = self.formula.counts, self.depth
        if all(counts):
            return ordered(self._search_hybrid(self._opened, text, vector, limit))[:limit]
        # Stores differ in what they do with a list of weight 0; here it is not asked for.
        dense = self._search_dense(self._opened, vector, depth.dense) if counts[0] else []
        keyword = self._search_keyword(self._opened, text, depth.keyword) if counts[1] else []
        return self.formula.fuse(dense, keyword)[:limit]

    def lists(self, text: str, vector: Vectors) -> EngineLists:
        """Return the two lists as the engine gives and fuses them."""
        if self._opened is None:
            return EngineLists([], [])
        self._check("dense", vector)
        return EngineLists(
            self._search_dense(self._opened, vector, self.depth.dense),
            self._search_keyword(self._opened, text, self.depth.keyword),
        )

    def restrict(self, allowed: Positions) -> Engine | None:
        """Return a copy that finds only the texts at `allowed`, if the capabilities include this.

        None if they do not, or if neither the allowed texts nor the others fit into one request.
        """
        fewer = min(len(allowed), self._texts - len(allowed))
        if not self._settings.capabilities.restricts or fewer > self._most_listed:
            return None
        other = copy.copy(self)
        other._allowed = Allowed(allowed, self._texts) if len(allowed) < self._texts else None
        if not len(allowed):  # the store is not asked
            other._opened = None
        return other

    @property
    def reproducible(self) -> bool:
        """True if a rebuilt index gives the same rankings with these settings."""
        when = self._settings.capabilities.reproducible
        return when == "always" or (when == "exact" and self._exact)

    def metadata(self) -> Mapping[str, Any]:
        """Return the metadata that the contract requires, and the facts that the adapter found."""
        moving = {} if self.reproducible else {"nondeterministic": True}
        return {
            "engine": self.name,
            "version": "",
            "exact": self._exact,
            **moving,
            **self._facts,
        }

    def close(self) -> None:
        """Release the index, which remains stored."""
        if self._opened is not None:
            self._release(self._opened)
        self._opened, self._texts, self._dimensions, self._facts = None, 0, 0, {}

    @property
    def formula(self) -> Formula:
        """The fusion that the settings choose."""
        return self._settings.make_formula()

    @property
    def _exact(self) -> bool:
        """True if dense search compares the query with every vector."""
        return self._settings.is_exact(self._texts)

    @property
    def _most_listed(self) -> float:
        """The greatest number of positions that one request can list."""
        return math.inf

    def _key(self, texts: Sequence[str], identity: str) -> str:
        """Return the digest of everything that the index depends on; vectors follow from it."""
        code = (self.name, self.revision, find_source(self._settings))
        content = digest_texts(texts)
        return digest(code, self._list_versions(), self._shape(), identity, content)

    def _list_versions(self) -> Sequence[str]:
        """Return the versions on which the index depends."""
        return ()

    def _shape(self) -> Sequence[Any]:
        """Return the settings on which the index depends; others affect searches only."""
        return self._settings.list_shape()

    @abstractmethod
    def _store(
        self, texts: Sequence[str], vectors: Vectors, identity: str
    ) -> tuple[H, StoredIndex]:
        """Find or build the index and return it open; add the facts known by then to `_facts`."""

    def _search_dense(self, opened: H, vector: Vectors, limit: int) -> list[Scored]:
        """Return the texts of greatest cosine."""
        raise self._lack("dense")

    def _search_keyword(self, opened: H, text: str, limit: int) -> list[Scored]:
        """Return the texts of greatest keyword score."""
        raise self._lack("keyword")

    def _search_hybrid(self, opened: H, text: str, vector: Vectors, limit: int) -> list[Scored]:
        """Return the engine's fusion of both lists, each cut at its depth, in any order.

        Return all of it, whatever the `limit`, if the engine breaks ties at random or does not say
        how it breaks them.
        """
        raise self._lack("hybrid")

    def _check(self, search: Search, vector: Vectors) -> None:
        """Raise AssayError if the engine lacks the search, or the vector's dimensions differ."""
        if search not in self.searches:
            raise self._lack(search)
        check_dimensions(self.name, vector, self._dimensions)

    def _lack(self, search: Search) -> AssayError:
        return AssayError(f"engine {self.name}: {self._settings.describe_lack(search)}")

    def _release(self, opened: H) -> None:
        """Close what is open."""


def _widen(search: Callable[[int], list[Scored]], limit: int, deeper: bool = True) -> list[Scored]:
    """Return the results of `search` to `limit`, and all that tie with the last one.

    More is requested until a score is lower, or the store gives no more. With `deeper` false no
    more is requested, since the results of approximate search depend on the number requested.
    """
    most = max(limit, DEEPEST) if deeper else limit
    asked = min(limit + 1, most)
    found = search(asked)
    while len(found) == asked < most and found[limit - 1][1] == found[-1][1]:
        asked = min(2 * asked, most)
        found = search(asked)
    return found


def _sort(found: list[Scored]) -> list[Scored]:
    """Return a list with equal scores by position.

    A search may be so fast that sorting a list that is in order already would take a visible share.
    """
    scores = list(map(_SCORE, found))
    for i in compress(count(), map(le, scores, scores[1:])):
        if scores[i] < scores[i + 1] or found[i][0] > found[i + 1][0]:
            return ordered(found)
    return found
