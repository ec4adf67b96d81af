"""Reranking: a cross-encoder reads the best hits again and puts them in its own order."""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from pydantic import Field

from retrievers.base import Hit
from retrievers.models.base import CrossEncoder
from retrievers.models.cross_encoders import AnyCrossEncoder, CrossEncoderSettings
from retrievers.settings import Workshop
from retrievers.settings.parts import find_source
from retrievers.stages.base import Scale, Stage, StageResult, StageSettings, descend
from retrievers.store.cache import Cache
from retrievers.store.digest import digest

CACHE_KIND = "rerank"
VALUE = struct.Struct("<d")


class RerankSettings(StageSettings):
    """A cross-encoder reads the best hits and reorders them."""

    tunable: ClassVar[Mapping[str, Sequence[Any]]] = {"depth": (5, 10, 24, 50)}
    scale: ClassVar[Scale] = "own"
    type: Literal["rerank"]
    model: AnyCrossEncoder = Field(
        default_factory=CrossEncoderSettings, description="the cross-encoder, or its name"
    )
    depth: int = Field(
        24, ge=1, description="how many hits are read; those below stay below, in their order"
    )

    def build(self, workshop: Workshop) -> Stage:
        """Return the stage. Its model loads with the first pair that is not in the cache."""
        source = find_source(self.model)
        model = self.model.build(workshop)
        return Rerank(model, self.model.to_probability, self.depth, workshop.cache, source)


class Rerank(Stage):
    """Orders the first `depth` hits by a cross-encoder's score. Without `cache` none is kept.

    `to_probability` maps a number of the model to between 0 and 1, both excluded. `source` is the
    digest of the model's code, where that is not this project's.
    """

    def __init__(
        self,
        model: CrossEncoder,
        to_probability: Callable[[float], float],
        depth: int,
        cache: Cache | None,
        source: str = "",
    ) -> None:
        self._source = source
        self._model = model
        self._to_probability = to_probability
        self._depth = depth
        self._cache = cache

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return `hits` with new scores that strictly descend and lie between 0 and 1.

        A hit that was read has the chance that the model gives it; equal ones keep their previous
        order, the later lowered by the least step there is. The n-th hit that was not read has
        the lowest of these over n + 1, so that it stays below.
        """
        counts = {"in": len(hits), "out": len(hits), "read": min(len(hits), self._depth)}
        if not hits:
            return StageResult([], counts=counts)
        read, rest = hits[: self._depth], hits[self._depth :]
        texts = [hit.chunk.searchable for hit in read]
        scores = map(self._to_probability, self._score(query, texts))
        pairs = sorted(zip(read, scores, strict=True), key=lambda pair: -pair[1])
        ranked = descend(pairs)
        lowest = ranked[-1].score
        ranked += [replace(hit, score=lowest / place) for place, hit in enumerate(rest, start=2)]
        return StageResult(ranked, f"read {len(read)} of {len(hits)} hits", counts)

    def without_query_cache(self) -> Stage:
        """The same stage, scoring every pair anew."""
        return Rerank(self._model, self._to_probability, self._depth, cache=None)

    def facts(self) -> Mapping[str, Any]:
        """The facts of the cross-encoder."""
        return self._model.facts()

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
