"""Reranking: a cross-encoder reads the best hits again and puts them in its own order."""

import json
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from assay.retrievers.base import CUT, AssayError, Hit, cut
from assay.retrievers.models.base import CrossEncoder
from assay.retrievers.models.cross_encoders import CrossEncoderSettings
from assay.retrievers.models.registry import AnyCrossEncoder
from assay.retrievers.services import cost_meter as charges
from assay.retrievers.services.prices import FREE, Usage
from assay.retrievers.services.retries import count_wait
from assay.retrievers.settings import Resources
from assay.retrievers.settings.parts import find_source
from assay.retrievers.stages.base import (
    Scale,
    Stage,
    StageResult,
    StageSettings,
    descend,
    part_pinned,
)
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.digest import digest

CACHE_KIND = "rerank"
UNITS_KIND = "rerank_units"  # what a service billed for each pair, by the same key
LIST_KIND = "rerank_lists"  # scores of lists read as a whole, with what that used
FIRST = 5  # what is read before it is asked whether that is enough
PINNED = math.nextafter(1.0, 0.0)  # the score of an exact match: surer than any chance given
VALUE = struct.Struct("<d")


class RerankSettings(StageSettings):
    """A cross-encoder reads the best hits and reorders them."""

    tunable: ClassVar[Mapping[str, Sequence[Any]]] = {"depth": (5, 10, 24, 50)}
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

    @model_validator(mode="after")
    def _has_scores(self) -> "RerankSettings":
        if self.enough is not None and self.model.listwise:
            raise ValueError("enough: compares scores, and this model gives ranks; leave it out")
        return self

    @property
    def scale(self) -> Scale:
        """Its model's, where that gives more than ranks."""
        return "never" if self.model.listwise else "own"

    def build(self, resources: Resources) -> Stage:
        """Return the stage. Its model loads with the first pair that is not in the cache."""
        source = find_source(self.model)
        model = self.model.build(resources)
        return Rerank(model, self.model.to_probability, self, resources.cache, source)


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
        if shortened := self._model.count_cut(query, texts[: len(read)]):
            counts[CUT] = shortened
            kept += f"; {shortened} of them not to the end"
        return StageResult(ranked, f"read {len(read)} of {len(hits)} hits{kept}", counts)

    def follow(self, query: str, expansion: Sequence[str], hits: Sequence[Hit]) -> StageResult:
        """Rerank as `apply` does; the model reads the query with the words of `expansion`."""
        return self.apply(" ".join([query, *expansion]), hits)

    def without_query_cache(self) -> Stage:
        """Return the same stage, scoring every pair again."""
        return Rerank(self._model, self._to_probability, self._settings, cache=None)

    def metadata(self) -> Mapping[str, Any]:
        """Return the facts of the cross-encoder."""
        return self._model.metadata()

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
        scores = _check(self._score(query, texts), texts, "`assay cache clear` forgets it")
        return [self._to_probability(score) for score in scores]

    def _ask(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        return _check(self._model.score(query, texts), texts)

    def _score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        if self._cache is None:
            return self._ask(query, texts)
        identity = [self._model.identity, *filter(None, [self._source])]
        if self._model.listwise:
            return self._score_list(
                self._cache, digest(*identity, query, list(texts)), query, texts
            )
        keys = [digest(*identity, query, text) for text in texts]
        known = self._cache.get_many(CACHE_KIND, keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            with charges.watch() as watched:
                scores = self._ask(query, list(missing.values()))
            count_wait(watched.retried.retries, watched.waited / 1e3)
            fresh = {key: VALUE.pack(score) for key, score in zip(missing, scores, strict=True)}
            if billed := watched.usage.prompt:
                self._cache.put_many(UNITS_KIND, _share(billed, missing))
            self._cache.put_many(CACHE_KIND, fresh)
            known |= fresh
        if self._model.prices != FREE:
            self._record(self._cache, keys, query, texts)
        return [VALUE.unpack(known[key])[0] for key in keys]

    def _record(self, cache: Cache, keys: Sequence[str], query: str, texts: Sequence[str]) -> None:
        """Record what one call for `texts` is billed, whenever their scores were made."""
        if self._model.unit == "searches":
            usage = self._model.expect(query, texts)
        else:
            units = cache.get_many(UNITS_KIND, keys).values()
            usage = Usage(round(math.fsum(VALUE.unpack(value)[0] for value in units)))
        charges.record(usage, self._model.prices, self._model.unit)

    def _score_list(
        self, cache: Cache, key: str, query: str, texts: Sequence[str]
    ) -> Sequence[float]:
        """Return the scores of a list that was read as a whole, and record what that used."""
        known = cache.get_many(LIST_KIND, [key]).get(key)
        if known is None:
            with charges.watch() as watched:
                scores = self._ask(query, texts)
            count_wait(watched.retried.retries, watched.waited / 1e3)
            kept = {"scores": scores, "usage": asdict(watched.usage), "noted": watched.noted}
            known = json.dumps(kept).encode()
            cache.put_many(LIST_KIND, {key: known})
        found = json.loads(known)
        charges.record(Usage(**found["usage"]), self._model.prices)
        for name, number in found["noted"].items():
            charges.note(name, number)
        scores = found["scores"]
        return list(map(float, scores))


def _check(scores: Sequence[float], texts: Sequence[str], way: str = "") -> Sequence[float]:
    """Return `scores`. Raises AssayError for one that is not finite and so has no rank."""
    for score, text in zip(scores, texts, strict=True):
        if not math.isfinite(score):
            raise AssayError(
                f"rerank: the model gives {score} to {cut(text, 40)!r}; allowed: finite scores"
                f"{'; ' if way else ''}{way}"
            )
    return scores


def _share(units: int, texts: Mapping[str, str]) -> dict[str, bytes]:
    """Return each text's share of what a call was billed, by its length."""
    sizes = {key: len(text.encode()) + 1 for key, text in texts.items()}
    total = sum(sizes.values())
    return {key: VALUE.pack(units * size / total) for key, size in sizes.items()}
