"""Sparse encoders of sentence-transformers: any hub id or folder. Needs the extra `st`."""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.retrievers.model_files.files import ModelFiles
from assay.retrievers.models.base import SparseEncoder, SparseVector
from assay.retrievers.models.st import PACKAGES, StModel, StRecipe
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest

REVISION = 1  # raise it when the code below comes to give other vectors


class StSparseEncoder(SparseEncoder):
    """Encodes with a SparseEncoder, its own prompts and pooling included."""

    def __init__(self, files: ModelFiles, recipe: StRecipe, resources: Resources) -> None:
        self._files = files
        self._recipe = recipe
        self._model = StModel("SparseEncoder", files, recipe, resources)

    @property
    def identity(self) -> str:
        """The digest of the files, the tokens read and the type of numbers."""
        return digest("st sparse encoder", REVISION, self._files.digest, *self._recipe.kept)

    def encode_passages(self, texts: Sequence[str]) -> list[SparseVector]:
        """Return one vector per text; rows as wide as the vocabulary are held meanwhile."""
        return self._encode("encode_document", texts)

    def encode_query(self, text: str) -> SparseVector:
        """Return the query's vector."""
        (vector,) = self._encode("encode_query", [text])
        return vector

    def metadata(self) -> Mapping[str, Any]:
        """Return name, build, digest, the tokens read, and the runtime."""
        max_tokens = self._recipe.max_tokens or self._files.max_tokens
        read = {**self._recipe.metadata(), "max_tokens": max_tokens}
        return {**self._files.metadata(*PACKAGES), **read}

    def _encode(self, method: str, texts: Sequence[str]) -> list[SparseVector]:
        rows = self._model.run(method, list(texts), convert_to_sparse_tensor=False)
        return [SparseVector.of(row.float().cpu().numpy()) for row in rows]
