"""Encoders: settings, and the cache every encoder stands behind."""

import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from retrievers.base import AssayError
from retrievers.models.base import Encoder, Vectors
from retrievers.models.choice import ModelSettings, check_tokens
from retrievers.models.files import ModelFiles, locate
from retrievers.models.onnx import OnnxEncoder
from retrievers.models.packages import Pooling
from retrievers.models.pins import DEFAULT_ENCODER
from retrievers.models.recipes import Recipe
from retrievers.models.st import StEncoder, StRecipe
from retrievers.settings import Settings, Workshop
from retrievers.settings.parts import Part, find_source
from retrievers.store.digest import digest

CACHE_KIND = "embeddings"
SECONDS_KIND = "embedding_seconds"  # of each vector, by the same key
SECONDS = struct.Struct("<d")
TEXTS_PER_WRITE = 64  # what a killed run loses at most


class EncoderChoice(Settings, ABC):
    """Base of the settings of every encoder."""

    @property
    def name(self) -> str:
        """What people know the encoder by."""
        return type(self).__name__

    @abstractmethod
    def open(self, workshop: Workshop) -> Encoder:
        """Return the encoder. Neither it nor its files are loaded before a text needs them."""

    def build(self, workshop: Workshop) -> "CachingEncoder":
        """Return the encoder behind the cache, where what was plugged in has vectors of its own."""
        return CachingEncoder(self.open(workshop), self.name, workshop, find_source(self))


class EncoderSettings(ModelSettings, EncoderChoice):
    """An embedding model. Its name alone may stand for it."""

    model: str = Field(
        DEFAULT_ENCODER,
        min_length=1,
        description=(
            "a pinned model (`assay models list`), a local folder, or a hub id of a"
            " sentence-transformers model"
        ),
    )
    query_prefix: str | None = Field(
        None, description='put before each query; the model\'s own if not given, "" for none'
    )
    passage_prefix: str | None = Field(
        None, description='put before each passage; the model\'s own if not given, "" for none'
    )
    max_tokens: int | None = Field(
        None, ge=8, description="what is read of a text, in tokens; the model's own if not given"
    )
    pooling: Pooling | None = Field(
        None,
        description="how token vectors become one (onnx only); the model's own if not given",
    )

    @property
    def name(self) -> str:
        """The model's."""
        return self.model

    def open(self, workshop: Workshop) -> Encoder:
        """Return the encoder. Neither it nor its files are loaded before a text needs them."""
        files = locate(self.model, self.backend, "encoder", workshop)
        build = self._build_st if files.backend == "st" else self._build_onnx
        return build(files, workshop)

    def _build_onnx(self, files: ModelFiles, workshop: Workshop) -> Encoder:
        given = self.model_dump(include=set(Recipe.__dataclass_fields__), exclude_none=True)
        recipe = replace(files.recipe, **given)
        check_tokens(recipe.max_tokens, files)
        return OnnxEncoder(files, recipe, workshop.threads, self.fused)

    def _build_st(self, files: ModelFiles, workshop: Workshop) -> Encoder:
        if self.pooling is not None:
            raise AssayError(
                f"pooling: {self.pooling}; sentence-transformers pools {files.name} as the model"
                f" says, leave the key out"
            )
        recipe = StRecipe(self.query_prefix, self.passage_prefix, self.max_tokens)
        return StEncoder(files, recipe, workshop.threads, workshop.progress)


AnyEncoder = Annotated[EncoderChoice, Part("assay.encoders", EncoderChoice, EncoderSettings)]


@dataclass(frozen=True, slots=True)
class Encoded:
    """One row a text, and how many distinct texts had to be encoded for it."""

    vectors: Vectors
    fresh: int


class CachingEncoder(Encoder):
    """Keeps the vector of every passage by its text. Queries are encoded each time.

    Safe in several threads and processes: at worst two of them encode the same text. `source` is
    the digest of its code, where that is not this project's.
    """

    def __init__(self, encoder: Encoder, name: str, workshop: Workshop, source: str = "") -> None:
        self._source = source
        self._encoder = encoder
        self._name = name
        self._workshop = workshop

    @property
    def identity(self) -> str:
        """The identity of the encoder behind the cache."""
        identity = self._encoder.identity
        return digest(identity, self._source) if self._source else identity

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text; of no texts, shape (0, 0)."""
        return self.encode(texts).vectors

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Return the vectors of `texts` and how many were not in the cache."""
        if not texts:
            return Encoded(np.empty((0, 0), np.float32), 0)
        identity = self.identity
        keys = [digest(identity, text) for text in texts]
        known = self._workshop.cache.get_many(CACHE_KIND, keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            fresh = self._encode_missing(missing)
            what = f"embedding with {self._name}"
            known.update(self._workshop.progress.track(fresh, what, len(missing)))
        values = b"".join(known[key] for key in keys)
        return Encoded(np.frombuffer(values, np.float32).reshape(len(keys), -1), len(missing))

    def recall_seconds(self, texts: Sequence[str]) -> float | None:
        """Return the seconds that encoding the distinct `texts` took, whenever that was done.

        None where some vector comes from a time when this was not kept.
        """
        identity = self.identity
        keys = {digest(identity, text) for text in texts}
        known = self._workshop.cache.get_many(SECONDS_KIND, keys)
        if len(known) < len(keys):
            return None
        return fsum(SECONDS.unpack(value)[0] for value in known.values())

    def encode_query(self, text: str) -> Vectors:
        """Return the vector of a query: float32, shape (dimensions,)."""
        return self._encoder.encode_query(text)

    def facts(self) -> Mapping[str, Any]:
        """The facts of the encoder behind the cache."""
        return self._encoder.facts()

    def _encode_missing(self, texts: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """Yield (key, vector), each block stored before its first is yielded."""
        keys = list(texts)
        for begin in range(0, len(keys), TEXTS_PER_WRITE):
            block = keys[begin : begin + TEXTS_PER_WRITE]
            start = time.perf_counter()
            vectors = self._encoder.encode_passages([texts[key] for key in block])
            share = SECONDS.pack((time.perf_counter() - start) / len(block))
            self._workshop.cache.put_many(SECONDS_KIND, dict.fromkeys(block, share))
            values = {key: row.tobytes() for key, row in zip(block, vectors, strict=True)}
            self._workshop.cache.put_many(CACHE_KIND, values)
            yield from values.items()
