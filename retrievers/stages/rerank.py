"""Reranking: a cross-encoder reads the best hits again and puts them in its own order."""

import math
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
from retrievers.stages.base import (
    Scale,
    Stage,
    StageResult,
    StageSettings,
    descend,
    part_pinned,
)
from retrievers.store.cache import Cache
from retrievers.store.digest import digest

CACHE_KIND = "rerank"
FIRST = 5  # what is read before it is asked whether that is enough
PINNED = math.nextafter(1.0, 0.0)  # the score of an exact match: surer than any chance given
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
        24,
        ge=1,
        description=(
            "how many hits are read; those below stay below, in their order, and exact matches "
            "that a boost has put first stay first, unread"
        ),
    )
    enough: float | None = Field(
        None,
        gt=0,
        lt=1,
        description=(
            "after the first 5, no more is read once one of them has this score, between 0 and 1;"
            " not given: all to `depth` are read"
        ),
    )

    def build(self, workshop: Workshop) -> Stage:
        """Return the stage. Its model loads with the first pair that is not in the cache."""
        source = find_source(self.model)
        model = self.model.build(workshop)
        return Rerank(model, self.model.to_probability, self, workshop.cache, source)


class Rerank(Stage):
    """Orders the first hits by a cross-encoder's score. Without `cache` none is kept.

    `to_probability` maps a number of the model to between 0 and 1, both excluded. `source` is the
    digest of the model's code, where that is not this project's.
    """

    def __init__(
        self,
        model: CrossEncoder,
        to_probability: Callable[[float], float],
        settings: RerankSettings,
        cache: Cache | None,
        source: str = "",
    ) -> None:
        self._source = source
        self._model = model
        self._to_probability = to_probability
        self._settings = settings
        self._cache = cache

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return `hits` with new scores that strictly descend and lie between 0 and 1.

        A hit that was read has the chance that the model gives it; equal ones keep their previous
        order, the later lowered by the least step there is. The n-th hit that was not read has
        the lowest of these over n + 1, so that it stays below. A model does not know that a section
        was asked for by its number: pinned hits stay first, in their order, at the highest scores
        below 1.
        """
        pinned, others = part_pinned(hits)
        texts = [hit.chunk.searchable for hit in others[: self._settings.depth]]
        scores = self._read(query, texts) if texts else []
        read, rest = others[: len(scores)], others[len(scores) :]
        pairs = sorted(zip(read, scores, strict=True), key=lambda pair: -pair[1])
        ranked = descend([*((hit, PINNED) for hit in pinned), *pairs])
        lowest = ranked[-1].score if ranked else 0.0
        ranked += [replace(hit, score=lowest / place) for place, hit in enumerate(rest, start=2)]
        kept = f"; kept {len(pinned)} exact ones before them" if pinned else ""
        counts = {"in": len(hits), "out": len(hits), "read": len(read), "kept": len(pinned)}
        return StageResult(ranked, f"read {len(read)} of {len(hits)} hits{kept}", counts)

    def without_query_cache(self) -> Stage:
        """The same stage, scoring every pair anew."""
        return Rerank(self._model, self._to_probability, self._settings, cache=None)

    def facts(self) -> Mapping[str, Any]:
        """The facts of the cross-encoder."""
        return self._model.facts()

    def _read(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the chances of `texts`, or of the first alone where one of these is enough."""
        enough = self._settings.enough
        if enough is None:
            return self._judge(query, texts)
        scores = self._judge(query, texts[:FIRST])
        if max(scores) >= enough or len(texts) <= FIRST:
            return scores
        return scores + self._judge(query, texts[FIRST:])

    def _judge(self, query: str, texts: Sequence[str]) -> list[float]:
        return [self._to_probability(score) for score in self._score(query, texts)]

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
