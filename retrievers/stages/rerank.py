"""Reranking: a cross-encoder reads the best hits again and puts them in its own order."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from pydantic import Field

from retrievers.base import Hit
from retrievers.models.base import CrossEncoder
from retrievers.models.cross_encoders import AnyCrossEncoder, CrossEncoderSettings
from retrievers.normalisation import normalise_min_max
from retrievers.settings import Workshop
from retrievers.settings.parts import find_source
from retrievers.stages.base import Stage, StageResult, StageSettings, descend
from retrievers.store.cache import Cache
from retrievers.store.digest import digest

CACHE_KIND = "rerank"
FIRST = 5  # what is read before it is asked whether that is enough
VALUE = struct.Struct("<d")


class RerankSettings(StageSettings):
    """A cross-encoder reads the best hits and reorders them."""

    tunable: ClassVar[Mapping[str, Sequence[Any]]] = {"depth": (5, 10, 24, 50)}
    scale: ClassVar[Literal["as given", "always", "never"]] = "never"
    type: Literal["rerank"]
    model: AnyCrossEncoder = Field(
        default_factory=CrossEncoderSettings, description="the cross-encoder, or its name"
    )
    depth: int = Field(
        24, ge=1, description="how many hits are read; those below stay below, in their order"
    )
    previous: float = Field(
        0.0,
        ge=0,
        lt=1,
        description=(
            "the share that a hit's score before has in its new one, both from 0 to 1 over what is"
            " read; 0: the model's score alone"
        ),
    )
    enough: float | None = Field(
        None,
        description=(
            "after the first 5, no more is read once one of them has this score of the model's; not"
            " given: all to `depth` are read"
        ),
    )

    def build(self, workshop: Workshop) -> Stage:
        """Return the stage. Its model loads with the first pair that is not in the cache."""
        model = self.model.build(workshop)
        return Rerank(model, self, workshop.cache, find_source(self.model))


class Rerank(Stage):
    """Orders the first hits by a cross-encoder's score. Without `cache` none is kept.

    `source` is the digest of the model's code, where that is not this project's.
    """

    def __init__(
        self, model: CrossEncoder, settings: RerankSettings, cache: Cache | None, source: str = ""
    ) -> None:
        self._source = source
        self._model = model
        self._settings = settings
        self._cache = cache

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return `hits` with new scores that strictly descend.

        A hit that was read has its score in the model's unit, or with a share of the score before
        from 0 to 1; equal scores keep their previous order, the later lowered by the least step
        there is. The n-th hit that was not read has n less than the lowest score given, so that it
        stays below.
        """
        if not hits:
            return StageResult([], counts={"in": 0, "out": 0, "read": 0})
        scores = self._read(query, [hit.chunk.searchable for hit in hits[: self._settings.depth]])
        read, rest = hits[: len(scores)], hits[len(scores) :]
        counts = {"in": len(hits), "out": len(hits), "read": len(read)}
        new = self._mix(scores, [hit.score for hit in read])
        pairs = sorted(zip(read, new, strict=True), key=lambda pair: -pair[1])
        ranked = descend(pairs)
        lowest = ranked[-1].score
        ranked += [replace(hit, score=lowest - place) for place, hit in enumerate(rest, start=1)]
        return StageResult(ranked, f"read {len(read)} of {len(hits)} hits", counts)

    def without_query_cache(self) -> Stage:
        """The same stage, scoring every pair anew."""
        return Rerank(self._model, self._settings, cache=None)

    def facts(self) -> Mapping[str, Any]:
        """The facts of the cross-encoder."""
        return self._model.facts()

    def _read(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return the model's scores of `texts`, or of the first alone where these are enough."""
        enough = self._settings.enough
        if enough is None:
            return self._score(query, texts)
        scores = self._score(query, texts[:FIRST])
        if max(scores) >= enough:
            return scores
        return [*scores, *self._score(query, texts[FIRST:])]

    def _mix(self, scores: Sequence[float], before: Sequence[float]) -> Sequence[float]:
        share = self._settings.previous
        if not share:
            return scores
        pairs = zip(normalise_min_max(scores), normalise_min_max(before), strict=True)
        return [(1 - share) * new + share * old for new, old in pairs]

    def _score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        if self._cache is None:
            return self._model.score(query, texts)
        identity = [self._model.identity, *filter(None, [self._source])]
        keys = [digest(*identity, query, text) for text in texts]
        known = self._cache.get_many(CACHE_KIND, keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            scores = self._model.score(query, list(missing.values()))
            fresh = {key: VALUE.pack(score) for key, score in zip(missing, scores, strict=True)}
            self._cache.put_many(CACHE_KIND, fresh)
            known |= fresh
        return [VALUE.unpack(known[key])[0] for key in keys]
