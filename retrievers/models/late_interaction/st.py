"""Late interaction on sentence-transformers 6 or later: ColBERT and PyLate checkpoints.

Needs the extra `st`.
"""

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from assay.retrievers.base import AssayError
from assay.retrievers.model_files.files import ModelFiles
from assay.retrievers.models.base import TokenEncoder, Vectors
from assay.retrievers.models.st import PACKAGES, StModel, StRecipe
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest

KIND = "MultiVectorEncoder"
PROBE = "a text"
REVISION = 1  # raise it when the code below comes to give other vectors


class StTokenEncoder(TokenEncoder):
    """Encodes with a MultiVectorEncoder, its own prompts, lengths and projection included."""

    def __init__(self, files: ModelFiles, recipe: StRecipe, resources: Resources) -> None:
        self._files = files
        self._recipe = recipe
        self._lock = threading.Lock()
        self._model: StModel | None = None
        self._make = partial(StModel, KIND, files, recipe, resources)

    @property
    def identity(self) -> str:
        """The digest of the files, the tokens read and the type of numbers."""
        return digest("st token vectors", REVISION, self._files.digest, *self._recipe.kept)

    def encode_passages(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the vectors of each text."""
        return self._encode("encode_document", texts)

    def encode_query(self, text: str) -> Vectors:
        """Return the query's vectors."""
        (vectors,) = self._encode("encode_query", [text])
        return vectors

    def metadata(self) -> Mapping[str, Any]:
        """Return name, build, digest, the tokens read if not the model's own, and the runtime."""
        return {**self._files.metadata(*PACKAGES), **self._recipe.metadata()}

    def _encode(self, method: str, texts: Sequence[str]) -> list[Vectors]:
        found = _run(self._load(), method, texts)
        for text, vectors in zip(texts, found, strict=True):
            if not len(vectors):  # a model may leave out punctuation, and with it all of a text
                name = self._files.name
                raise AssayError(f"model {name}: keeps no token of the text {text[:40]!r}")
        return found

    def _load(self) -> StModel:
        """Return the model. Raises AssayError if it has a layer that its files do not hold.

        sentence-transformers gives an encoder of another kind a projection of random numbers, with
        a line in its log; here this is detected by vectors that differ at each start.
        """
        with self._lock:
            if self._model is None:
                model, other = self._make(), self._make()
                found, wanted = (_run(item, "encode_query", [PROBE]) for item in (model, other))
                if not np.array_equal(found[0], wanted[0]):
                    raise AssayError(
                        f"model {self._files.name}: not trained for late interaction: its files"
                        " lack a layer; allowed: a ColBERT or PyLate model, or as a baseline a"
                        " pinned encoder (`assay models list`) or a folder with an ONNX file"
                    )
                self._model = model
            return self._model


def _run(model: StModel, method: str, texts: Sequence[str]) -> list[Vectors]:
    found = model.run(method, list(texts), convert_to_numpy=True, normalize_embeddings=True)
    return [np.asarray(vectors, dtype=np.float32) for vectors in found]
