"""Sparse encoders of sentence-transformers: any hub id or folder. Needs the extra `st`."""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.retrievers.base import Progress
from assay.retrievers.model_files.files import ModelFiles
from assay.retrievers.models.sparse_base import SparseEncoder, SparseVector
from assay.retrievers.models.st import PACKAGES, StModel
from assay.retrievers.store.digest import digest

REVISION = 1  # raise it when the code below comes to give other vectors


class StSparseEncoder(SparseEncoder):
    """Encodes with a SparseEncoder, its own prompts and pooling included."""

    def __init__(
        self, files: ModelFiles, max_tokens: int | None, threads: int, progress: Progress
    ) -> None:
        self._files = files
        self._max_tokens = max_tokens
        self._model = StModel("SparseEncoder", files, max_tokens, threads, progress)

    @property
    def identity(self) -> str:
        """Digest of the files and the tokens read."""
        return digest("st sparse encoder", REVISION, self._files.digest, self._max_tokens)

    def encode_passages(self, texts: Sequence[str]) -> list[SparseVector]:
        """Return one vector a text; a row as wide as the vocabulary is held of one at a time."""
        return [self._encode("encode_document", text) for text in texts]

    def encode_query(self, text: str) -> SparseVector:
        """Return the query's vector."""
        return self._encode("encode_query", text)

    def metadata(self) -> Mapping[str, Any]:
        """Name, build, digest, the tokens read, and the runtime."""
        max_tokens = self._max_tokens or self._files.max_tokens
        return {**self._files.metadata(*PACKAGES), "max_tokens": max_tokens}

    def _encode(self, method: str, text: str) -> SparseVector:
        (row,) = self._model.run(method, [text], convert_to_sparse_tensor=False)
        return SparseVector.of(row)
