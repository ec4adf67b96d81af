"""An encoder of your own, which hashes words into a vector: no model, no download."""

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from pydantic import Field

from assay.retrievers.models.base import Encoder, Vectors
from assay.retrievers.models.choice import EncoderChoice
from assay.retrievers.settings import Resources


class HashingSettings(EncoderChoice):
    """Counts of hashed words."""

    dimensions: int = Field(256, gt=0, description="of a vector")

    def open(self, resources: Resources) -> Encoder:
        return Hashing(self.dimensions)


class Hashing(Encoder):
    def __init__(self, dimensions: int = 256) -> None:
        self._dimensions = dimensions

    @property
    def identity(self) -> str:
        return f"hashing-{self._dimensions}"

    def encode_query(self, text: str) -> Vectors:
        slots = [crc32(word.encode()) % self._dimensions for word in text.lower().split() or [""]]
        counts = np.bincount(slots, minlength=self._dimensions)
        return np.asarray(counts / np.linalg.norm(counts), np.float32)

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.encode_query(text) for text in texts])
