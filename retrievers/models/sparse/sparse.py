"""Sparse encoders: settings, those on ONNX Runtime, and the cache in front of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.model_files.files import ModelFiles
from assay.retrievers.model_files.packages import Kind
from assay.retrievers.model_files.pins import DEFAULT_SPARSE_ENCODER, find_pinned, pinned_names
from assay.retrievers.models.base import SparseEncoder, SparseVector
from assay.retrievers.models.cached_vectors import KeptEncoder
from assay.retrievers.models.choice import ModelSettings, PassageEncoderChoice, check_tokens
from assay.retrievers.models.onnx import OnnxModel, WrittenGraph, map_texts
from assay.retrievers.models.sparse import splade
from assay.retrievers.models.sparse.st import StSparseEncoder
from assay.retrievers.models.st import StRecipe
from assay.retrievers.models.vector_check import CACHED
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest

CACHE_KIND = "sparse_embeddings"
KIND: Kind = "sparse-encoder"


class SparseEncoderSettings(ModelSettings, PassageEncoderChoice):
    """A learned sparse encoder. Its name alone may stand for it."""

    model: str = Field(
        DEFAULT_SPARSE_ENCODER,
        min_length=1,
        description=(
            "a pinned model (`assay models list`), or a local folder or hub id of a SparseEncoder"
            " of sentence-transformers"
        ),
    )
    max_tokens: int | None = Field(
        None, ge=8, description="what is read of a text, in tokens; the model's own if not given"
    )

    def build(self, resources: Resources) -> "CachingSparseEncoder":
        """Return the encoder behind its cache. Nothing is loaded before a text needs it."""
        spread = resources.pool.spread(self) if resources.pool else None
        return CachingSparseEncoder(self._open(resources), self.model, resources, spread)

    def _open(self, resources: Resources) -> SparseEncoder:
        backend = self.backend
        if not find_pinned(self.model, KIND):
            # Of another's ONNX file nobody can say what its output is.
            if backend == "onnx":
                raise AssayError(
                    f"model {self.model}: the backend onnx takes {pinned_names(KIND)}; allowed for"
                    " others: st"
                )
            backend = "st"
        files = self.locate(KIND, resources, backend)
        if files.backend == "st":
            return StSparseEncoder(files, StRecipe(self.max_tokens, self.dtype), resources)
        max_tokens = self.max_tokens or files.recipe.max_tokens
        check_tokens(max_tokens, files)
        return SpladeEncoder(files, max_tokens, resources.threads)


class SpladeEncoder(SparseEncoder):
    """SPLADE on ONNX Runtime, as a graph written from the model's weights."""

    def __init__(self, files: ModelFiles, max_tokens: int, threads: int) -> None:
        self._files = files
        self._max_tokens = max_tokens
        self._threads = threads
        write = partial(splade.write_splade, heads=files.heads)
        self._model = OnnxModel(files, max_tokens, WrittenGraph("splade", splade.REVISION, write))

    @property
    def identity(self) -> str:
        """The digest of the files, the graph and the tokens read."""
        return digest("splade", self._files.digest, self._max_tokens, *self._model.changes)

    def encode_passages(self, texts: Sequence[str]) -> list[SparseVector]:
        """Return one vector per text, on as many threads as the resources allows."""
        return map_texts(self.encode_query, texts, self._threads)

    def encode_query(self, text: str) -> SparseVector:
        """Return the text's vector, computed on the calling thread."""
        return SparseVector.of(self._model.run(text))

    def metadata(self) -> Mapping[str, Any]:
        """Return name, build, digest, the tokens read, and the runtime."""
        return {**self._files.metadata("onnxruntime"), "max_tokens": self._max_tokens}


@dataclass(frozen=True, slots=True)
class SparseEncodedTexts:
    """One vector per text, and how many texts had to be encoded for it."""

    vectors: list[SparseVector]
    fresh: int


class CachingSparseEncoder(KeptEncoder[SparseEncoder]):
    """Keeps the vector of every passage by its text. Queries are encoded each time."""

    kind = CACHE_KIND

    def encode(self, texts: Sequence[str]) -> SparseEncodedTexts:
        """Return the vectors of `texts` and how many were not in the cache."""
        found = list(self._find(texts))
        way = CACHED.format(kind=self.kind)
        vectors = [
            SparseVector.from_bytes(item.value).check(self._name, text, way)
            for text, item in zip(texts, found, strict=True)
        ]
        return SparseEncodedTexts(vectors, sum(item.fresh for item in found))

    def encode_query(self, text: str) -> SparseVector:
        """Return the vector of a query."""
        return self._encoder.encode_query(text).check(self._name, text)

    def _encode(self, texts: Sequence[str]) -> list[bytes]:
        vectors = zip(texts, self._encoder.encode_passages(texts), strict=True)
        return [vector.check(self._name, text).to_bytes() for text, vector in vectors]
