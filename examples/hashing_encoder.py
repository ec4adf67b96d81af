"""An encoder of your own, which hashes words into a vector: no model, no download."""

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from assay.retrievers.models.base import Encoder, Vectors
from assay.retrievers.models.encoders import EncoderChoice
from assay.retrievers.settings import Resources


class HashingSettings(EncoderChoice):
    """Counts of hashed words."""

    def open(self, resources: Resources) -> Encoder:
        return Hashing()


class Hashing(Encoder):
    identity = "hashing-256"

    def encode_query(self, text: str) -> Vectors:
        slots = [crc32(word.encode()) % 256 for word in text.lower().split() or [""]]
        counts = np.bincount(slots, minlength=256)
        return np.asarray(counts / np.linalg.norm(counts), np.float32)

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.encode_query(text) for text in texts])
