"""Reranking: a cross-encoder reads the best hits again and puts them in its own order."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from pydantic import Field

from retrievers.base import Hit
from retrievers.models.base import CrossEncoder
from retrievers.models.cross_encoders import AnyCrossEncoder, CrossEncoderSettings
from retrievers.settings import Workshop
from retrievers.settings.parts import find_source
from retrievers.stages.base import Stage, StageResult, StageSettings, descend
from retrievers.store.cache import Cache
from retrievers.store.digest import digest

CACHE_KIND = "rerank"
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
        24,
        ge=1,
        description=(
            "how many hits are read; those below stay below, in their order, and exact matches "
            "that a boost has put first stay first, unread"
        ),
    )

    def build(self, workshop: Workshop) -> Stage:
        """Return the stage. Its model loads with the first pair that is not in the cache."""
        source = find_source(self.model)
        return Rerank(self.model.build(workshop), self.depth, workshop.cache, source)


class Rerank(Stage):
    """Orders the first `depth` hits by a cross-encoder's score. Without `cache` none is kept.

    `source` is the digest of the model's code, where that is not this project's.
    """

    def __init__(
        self, model: CrossEncoder, depth: int, cache: Cache | None, source: str = ""
    ) -> None:
        self._source = source
        self._model = model
        self._depth = depth
        self._cache = cache

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return `hits` with new scores that strictly descend.

        A hit that was read has its score in the model's unit; equal scores keep their previous
        order, the later lowered by the least step there is. The n-th hit that was not read
        has n less than the lowest score given, so that it stays below. A model does not know that
        a section was asked for by its number: pinned hits stay first, in their order, the n-th
        from their end with n more than the highest score given.
        """
        pinned = [hit for hit in hits if hit.pinned]
        others = [hit for hit in hits if not hit.pinned]
        read, rest = others[: self._depth], others[self._depth :]
        counts = {"in": len(hits), "out": len(hits), "read": len(read), "kept": len(pinned)}
        if not hits:
            return StageResult([], counts=counts)
        scores = self._score(query, [hit.chunk.searchable for hit in read]) if read else []
        pairs = sorted(zip(read, scores, strict=True), key=lambda pair: -pair[1])
        ranked = descend(pairs)
        highest, lowest = (ranked[0].score, ranked[-1].score) if ranked else (0.0, 0.0)
        first = [
            replace(hit, score=highest + place)
            for place, hit in zip(range(len(pinned), 0, -1), pinned, strict=True)
        ]
        last = [replace(hit, score=lowest - place) for place, hit in enumerate(rest, start=1)]
        kept = f"; kept {len(pinned)} exact ones before them" if pinned else ""
        note = f"read {len(read)} of {len(hits)} hits{kept}"
        return StageResult([*first, *ranked, *last], note, counts)

    def without_query_cache(self) -> Stage:
        """The same stage, scoring every pair anew."""
        return Rerank(self._model, self._depth, cache=None)

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
