"""A cache of a leg's results, so that no query is searched twice."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.legs.base import Leg, LegResult, LegSettings
from assay.retrievers.settings.parts import find_source
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.chunk_store import ChunkStore
from assay.retrievers.store.digest import digest

KIND = "leg_lists"
Asked = tuple[tuple[str, ...], int]  # texts; the depth where a list depends on it, else 0


class LegResultCache:
    """The results of one leg on one corpus; with a `key` they are kept in the cache under it."""

    def __init__(self, cache: Cache, key: str) -> None:
        self._cache = cache
        self._key = key
        self._found: dict[Asked, tuple[int, LegResult]] = {}
        self._fresh: dict[str, LegResult] = {}

    def take(self, asked: Asked, depth: int, search: Callable[[int], LegResult]) -> LegResult:
        """Return the stored result to this depth or a greater one, or call `search`.

        Milliseconds are those of the original search. Other calls are known by their depth.
        """
        reached, result = self._found.get(asked, (0, None))
        if result is None or reached < depth:
            result = self._find(asked[0], depth, search)
            self._found[asked] = depth, result
        return replace(result, candidates=result.candidates[:depth])

    def keep(self) -> None:
        """Write what is new into the cache, if there is a key."""
        rows = {key: json.dumps(_tell(result)).encode() for key, result in self._fresh.items()}
        self._cache.put_many(KIND, rows)
        self._fresh.clear()

    def _find(
        self, texts: tuple[str, ...], depth: int, search: Callable[[int], LegResult]
    ) -> LegResult:
        if not self._key:
            return search(depth)
        key = digest(self._key, texts, depth)
        if kept := self._cache.get_many(KIND, [key]).get(key):
            return _read(json.loads(kept))
        self._fresh[key] = search(depth)
        return self._fresh[key]


def name_lists(settings: LegSettings, leg: Leg, corpus: Corpus, code: str) -> str:
    """Return the digest of everything that decides the lists of a leg that has indexed `corpus`.

    `code` stands for the code and the packages. The digest is "" for chunks in a `ChunkStore`,
    which are too many to read through, and for a nondeterministic leg, whose lists these do not
    decide.
    """
    if leg.nondeterministic or isinstance(corpus.chunks, ChunkStore):
        return ""
    plain = settings.model_dump(mode="json", exclude={"depth"})
    return digest(plain, find_source(settings), dict(leg.metadata()), corpus.content, code)


def _tell(result: LegResult) -> list[Any]:
    candidates = [(int(i), float(score)) for i, score in result.candidates]
    milliseconds, counts = dict(result.milliseconds), dict(result.counts)
    unboosted = sorted(map(int, result.unboosted))
    return [candidates, unboosted, milliseconds, result.note, counts, result.waited]


def _read(row: list[Any]) -> LegResult:
    candidates, unboosted, milliseconds, note, counts, waited = row
    ranked = [(i, score) for i, score in candidates]
    without = frozenset(unboosted)
    return LegResult(ranked, milliseconds, note, counts, waited, unboosted=without)
