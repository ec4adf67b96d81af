"""Vectors that are not finite or not of length 1 are refused where they enter, cached or not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from assay.retrievers.base import AssayError, Quiet
from assay.retrievers.models.base import Encoder, Vectors, check_unit
from assay.retrievers.models.caching import CachingEncoder
from assay.retrievers.models.late_interaction.token_vectors import CachingTokenEncoder
from assay.retrievers.models.sparse.sparse import CachingSparseEncoder
from assay.retrievers.models.sparse_base import SparseEncoder, SparseVector
from assay.retrievers.models.token_base import TokenEncoder
from assay.retrievers.models.vector_cache import VECTORS_KIND
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

NAN, INFINITE = float("nan"), float("inf")
SOUND = [0.6, 0.8]
UNSOUND = {
    "NaN": ([NAN, 1.0], "not finite"),
    "infinite": ([INFINITE, 0.0], "not finite"),
    "of length 40": ([0.0, 40.0], "length 40; each must have length 1"),
    "of zeros": ([0.0, 0.0], "length 0; each must have length 1"),
}
TEXTS = ["fine", "odd", "fine too"]


class Scripted(Encoder):
    """Gives the same vector for each text, but for the one called odd."""

    identity = "scripted"

    def __init__(self, odd: Sequence[float]) -> None:
        self.odd = odd

    def encode_query(self, text: str) -> Vectors:
        return np.array(self.odd if text == "odd" else SOUND, np.float32)

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.encode_query(text) for text in texts])


@pytest.fixture
def resources(tmp_path: Any) -> Resources:
    return Resources(cache=Cache(tmp_path), progress=Quiet())


@pytest.mark.parametrize("case", UNSOUND)
def test_an_unsound_vector_is_refused_and_not_kept(case: str, resources: Resources) -> None:
    row, told = UNSOUND[case]
    encoder = CachingEncoder(Scripted(row), "scripted", resources)
    with pytest.raises(AssayError, match=f"scripted: gives a vector .*{told}"):
        encoder.encode(TEXTS)
    assert encoder.find_missing(["odd"]) == ["odd"]
    with pytest.raises(AssayError, match=told):
        encoder.encode_query("odd")
    with pytest.raises(AssayError, match=told):
        encoder.encode_near("fine", ["odd"])
    mended = CachingEncoder(Scripted(SOUND), "scripted", resources)
    assert mended.encode(TEXTS).vectors.shape == (3, 2)


@pytest.mark.parametrize("case", UNSOUND)
def test_an_unsound_vector_of_the_cache_is_refused(case: str, resources: Resources) -> None:
    row, told = UNSOUND[case]
    encoder = CachingEncoder(Scripted(SOUND), "scripted", resources)
    (key,) = encoder._entries.look_up(["odd"]).keys
    resources.cache.put_many(VECTORS_KIND, {key: np.array(row, np.float32).tobytes()})
    with pytest.raises(AssayError, match=f"{told}.*assay cache clear embeddings"):
        encoder.encode(TEXTS)


def test_rounding_is_no_fault() -> None:
    rows = np.random.default_rng(7).normal(size=(500, 384))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    for kept in (np.float32, np.float16):
        check_unit(unit.astype(kept).astype(np.float32), "half")


class ScriptedTerms(SparseEncoder):
    identity = "terms"

    def encode_query(self, text: str) -> SparseVector:
        weights = np.array([1.0, NAN if text == "odd" else 2.0], np.float32)
        return SparseVector(np.array([3, 5], np.int32), weights)

    def encode_passages(self, texts: Sequence[str]) -> list[SparseVector]:
        return [self.encode_query(text) for text in texts]


class ScriptedTokens(TokenEncoder):
    identity = "tokens"

    def encode_query(self, text: str) -> Vectors:
        return np.array([SOUND, [NAN if text == "odd" else 1.0, 0.0]], np.float32)

    def encode_passages(self, texts: Sequence[str]) -> list[Vectors]:
        return [self.encode_query(text) for text in texts]

    def metadata(self) -> dict[str, Any]:
        return {}


def test_sparse_and_token_vectors_are_checked_too(resources: Resources) -> None:
    terms = CachingSparseEncoder(ScriptedTerms(), "terms", resources)
    tokens = CachingTokenEncoder(ScriptedTokens(), "tokens", resources)
    for encoder, read in ((terms, terms.encode), (tokens, lambda texts: [*tokens.find(texts)])):
        read(["fine"])
        with pytest.raises(AssayError, match="not finite"):
            read(TEXTS)
        with pytest.raises(AssayError, match="not finite"):
            encoder.encode_query("odd")


def test_a_row_of_weights_loses_no_number_that_is_not_finite() -> None:
    with pytest.raises(AssayError, match="not finite"):
        SparseVector.of(np.array([0.0, NAN, 1.0], np.float32))
