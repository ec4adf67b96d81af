"""Exact duplicates: of passages that read the same, the best stays."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Literal

from assay.retrievers.base import Chunk, Hit
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.settings import Resources
from assay.retrievers.stages.base import Stage, StageResult, StageSettings


class ContentHashSettings(StageSettings):
    """Drops hits whose text, white space apart, is that of a better hit."""

    type: Literal["content_hash"]

    def build(self, resources: Resources) -> Stage:
        """Return the stage."""
        return ContentHash()


class ContentHash(Stage):
    """Compares passages by the SHA-256 of their title and text, each run of white space one."""

    def __init__(self) -> None:
        self._hashes: Mapping[str, bytes] = {}

    def index(self, corpus: Corpus, top: float) -> None:
        """Hash every chunk."""
        self._hashes = {chunk.id: hash_content(chunk) for chunk in corpus.chunks}

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return the best hit of each content."""
        kept: dict[bytes, Hit] = {}
        for hit in hits:
            kept.setdefault(self._hashes[hit.chunk.id], hit)
        dropped = len(hits) - len(kept)
        note = f"dropped {dropped} hits that read as a better one does" if dropped else ""
        return StageResult(list(kept.values()), note, {"in": len(hits), "out": len(kept)})


def hash_content(chunk: Chunk) -> bytes:
    """Return the digest of what a reader sees of `chunk`."""
    words = f"{chunk.title}\n{chunk.text}".split()
    return sha256(" ".join(words).encode("utf-8", "surrogatepass")).digest()
