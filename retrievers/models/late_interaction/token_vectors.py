"""Encoders that keep a vector per token: settings, and those on ONNX Runtime."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.model_files.files import ModelFiles
from assay.retrievers.model_files.pins import DEFAULT_ENCODER
from assay.retrievers.model_files.recipes import Recipe
from assay.retrievers.models.base import TokenEncoder, Vectors
from assay.retrievers.models.cached_vectors import KeptEncoder
from assay.retrievers.models.choice import ModelSettings, PassageEncoderChoice, check_tokens
from assay.retrievers.models.late_interaction.st import StTokenEncoder
from assay.retrievers.models.onnx import OnnxModel, choose_graph, map_texts
from assay.retrievers.models.st import StRecipe
from assay.retrievers.models.vector_check import CACHED, check_vectors
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest

REVISION = 1  # raise it when the code below comes to give other vectors
CACHE_KIND = "token_vectors"


class TokenEncoderSettings(ModelSettings, PassageEncoderChoice):
    """A model that gives a vector a token. Its name alone may stand for it."""

    model: str = Field(
        DEFAULT_ENCODER,
        min_length=1,
        description=(
            "a model trained for late interaction (ColBERT, PyLate): a hub id or a folder, which"
            " need the extra `st`; or, as a baseline that was not trained for it, a pinned encoder"
            " (`assay models list`) or a folder with an ONNX file"
        ),
    )
    max_tokens: int | None = Field(
        None, ge=8, description="what is read of a text, in tokens; the model's own if not given"
    )

    def build(self, resources: Resources) -> "CachingTokenEncoder":
        """Return the encoder behind its cache. Nothing is loaded before a text needs it."""
        spread = resources.pool.spread(self) if resources.pool else None
        return CachingTokenEncoder(self._open(resources), self.model, resources, spread)

    def _open(self, resources: Resources) -> TokenEncoder:
        files = self.locate("encoder", resources)
        if files.backend == "st":
            return StTokenEncoder(files, StRecipe(self.max_tokens, self.dtype), resources)
        own = files.recipe
        recipe = replace(own, max_tokens=self.max_tokens or own.max_tokens)
        check_tokens(recipe.max_tokens, files)
        return OnnxTokenEncoder(files, recipe, resources.threads, self.fused)


class OnnxTokenEncoder(TokenEncoder):
    """The token vectors of an encoder that was trained to give one vector per text."""

    def __init__(self, files: ModelFiles, recipe: Recipe, threads: int, fused: bool) -> None:
        self._files = files
        self._recipe = recipe
        self._threads = threads
        graph = choose_graph(files, fused, first_only=False)
        self._model = OnnxModel(files, recipe.max_tokens, graph)

    @property
    def identity(self) -> str:
        """The digest of the files, the graph, the passages' prefix and the tokens read."""
        kept = [self._recipe.passage_prefix, self._recipe.max_tokens, *self._model.changes]
        return digest("onnx token vectors", REVISION, self._files.digest, *kept)

    def encode_passages(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the vectors of each text, on as many threads as the resources allows."""
        prefixed = [self._recipe.passage_prefix + text for text in texts]
        return map_texts(self._encode, prefixed, self._threads)

    def encode_query(self, text: str) -> Vectors:
        """Return the query's vectors, computed on the calling thread."""
        return self._encode(self._recipe.query_prefix + text)

    def metadata(self) -> Mapping[str, Any]:
        """Return name, build, digest, reading of texts, that it was not trained, and runtime."""
        return {
            **self._files.metadata("onnxruntime"),
            "graph": self._model.graph,
            "query_prefix": self._recipe.query_prefix,
            "passage_prefix": self._recipe.passage_prefix,
            "max_tokens": self._recipe.max_tokens,
            "trained_for_late_interaction": False,
        }

    def _encode(self, text: str) -> Vectors:
        output = self._model.run(text)
        if output.ndim != 2:
            raise AssayError(f"model {self._files.name}: gives one vector a text, none a token")
        lengths = np.linalg.norm(output, axis=1, keepdims=True)
        vectors: Vectors = (output / np.maximum(lengths, 1e-12)).astype(np.float32)
        return vectors


class CachingTokenEncoder(KeptEncoder[TokenEncoder]):
    """Keeps the vectors of every passage by its text, in half precision. Queries are encoded each
    time.
    """

    kind = CACHE_KIND

    def find(self, texts: Sequence[str]) -> Iterator[NDArray[np.float16]]:
        """Yield for each text float16, shape (tokens, dimensions); few are held at a time."""
        way = CACHED.format(kind=self.kind)
        for text, item in zip(texts, self._find(texts), strict=True):
            vectors = np.load(io.BytesIO(item.value), allow_pickle=False)
            check_vectors(self._name, vectors, [text] * len(vectors), way)
            yield vectors

    def encode_query(self, text: str) -> Vectors:
        """Return the vectors of a query: float32, shape (tokens, dimensions)."""
        vectors = self._encoder.encode_query(text)
        return check_vectors(self._name, vectors, [text] * len(vectors))

    def _encode(self, texts: Sequence[str]) -> list[bytes]:
        values = []
        for text, given in zip(texts, self._encoder.encode_passages(texts), strict=True):
            vectors = check_vectors(self._name, given, [text] * len(given))
            buffer = io.BytesIO()
            np.save(buffer, vectors.astype(np.float16), allow_pickle=False)
            values.append(buffer.getvalue())
        return values
