"""Chunks longer than an encoder reads, read in parts."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.legs.truncation import find_window, split
from assay.retrievers.models.caching import CachingEncoder, EncodedTexts
from assay.retrievers.models.tokens import Tokenizer
from assay.retrievers.settings import Resources

Windows = Literal["none", "max", "mean"]
WINDOWS: Any = Field(
    "none",
    description=(
        "a chunk longer than the encoder reads: none: its end is not read; else it is read in "
        "parts, and scores as the best of them (max) or by the mean of their vectors (mean)"
    ),
)


class EncodedParts(NamedTuple):
    """Vectors of chunks, the texts that were encoded for them, and how both belong together.

    `starts` has the row at which each chunk begins, where some chunk has several; else it is None,
    and the chunks have a row each. They are `averaged` where a row is the mean of several texts.
    """

    encoded: EncodedTexts
    texts: Sequence[str]
    starts: NDArray[np.intp] | None = None
    averaged: bool = False


def encode_parts(
    corpus: Corpus, encoder: CachingEncoder, windows: Windows, resources: Resources
) -> EncodedParts:
    """Return the vectors of the chunks of `corpus`, of their parts, or the means of these."""
    texts: Sequence[str] = corpus.texts
    window = find_window([encoder])
    if windows == "none" or window is None:
        return EncodedParts(corpus.encode(encoder), texts)
    tokenizer = Tokenizer.default(resources)
    parts = [split(text, window, tokenizer) for text in texts]
    counts = np.array([len(part) for part in parts], np.intp)
    if not len(parts) or counts.max() == 1:
        return EncodedParts(corpus.encode(encoder), texts)
    texts = [text for part in parts for text in part]
    encoded = encoder.encode(texts)
    starts = np.cumsum(counts) - counts
    if windows == "max":
        return EncodedParts(encoded, texts, starts)
    sums = np.add.reduceat(encoded.vectors, starts, axis=0)
    means = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    made = EncodedTexts(means.astype(np.float32, copy=False), encoded.fresh)
    return EncodedParts(made, texts, averaged=True)
