"""Vectors are checked where they enter, whichever encoder gives them, and so is what is cached."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.retrievers.base import AssayError
from assay.retrievers.models import caching
from assay.retrievers.models.base import (
    CrossEncoder,
    Encoder,
    SparseEncoder,
    SparseVector,
    TokenEncoder,
)
from assay.retrievers.models.caching import CachingEncoder
from assay.retrievers.models.late_interaction.token_vectors import CachingTokenEncoder
from assay.retrievers.models.sparse.sparse import CachingSparseEncoder
from assay.retrievers.models.vector_check import check_vectors
from assay.retrievers.settings import Resources
from assay.retrievers.stages.rerank import Rerank, RerankSettings
from assay.retrievers.store.cache import Cache

TEXTS = ["a ferry", "a boat", "bread"]
NAN, INF = float("nan"), float("inf")
WRONG = {
    "is not finite": [NAN, 1.0],
    "is not finite ": [INF, 0.0],
    "has the length 0": [0.0, 0.0],
    "has the length 40": [40.0, 0.0],
}


class Planned(Encoder):
    """Gives every text [1, 0], and "bread" what is planned."""

    identity = "planned"

    def __init__(self, bread):
        self.bread = bread

    def encode_passages(self, texts):
        return np.array([self.encode_query(text) for text in texts], np.float32)

    def encode_query(self, text):
        return np.array(self.bread if text == "bread" else [1.0, 0.0], np.float32)


class PlannedTokens(Planned, TokenEncoder):  # type: ignore[misc]
    def encode_passages(self, texts):  # type: ignore[override]
        return [self.encode_query(text) for text in texts]

    def encode_query(self, text):
        return np.array([[0.0, 1.0], Planned.encode_query(self, text)], np.float32)


class PlannedSparse(SparseEncoder):
    identity = "planned"

    def __init__(self, weight):
        self.weight = weight

    def encode_passages(self, texts):
        return [self.encode_query(text) for text in texts]

    def encode_query(self, text):
        weight = self.weight if text == "bread" else 1.0
        return SparseVector(np.array([3], np.int32), np.array([weight], np.float32))


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_vector_is_named_and_not_kept(fault, tmp_path):
    resources = Resources(Cache(tmp_path))
    words = f"^mine: the vector of 'bread' {fault.strip()}; allowed"
    for make, encoder in (
        (CachingEncoder, Planned(WRONG[fault])),
        (CachingTokenEncoder, PlannedTokens(WRONG[fault])),
    ):
        cached = make(encoder, "mine", resources)
        with pytest.raises(AssayError, match=words):
            cached.encode_query("bread")
        with pytest.raises(AssayError, match=words):
            cached.keep(TEXTS)
        encoder.bread = [0.6, 0.8]
        assert cached.keep(TEXTS) == 3, "nothing of the part was kept"


@pytest.mark.parametrize("most_held", [1 << 17, 1])
def test_what_is_cached_is_checked_too(most_held, tmp_path, monkeypatch):
    monkeypatch.setattr(caching, "MOST_HELD", most_held)
    resources = Resources(Cache(tmp_path))
    encoder = CachingEncoder(Planned([0.6, 0.8]), "mine", resources)
    (key,) = encoder._entries.look_up(["bread"]).keys
    resources.cache.put_many("embeddings", {key: np.array([NAN, 1], np.float32).tobytes()})
    with pytest.raises(AssayError, match=r"'bread' is not finite.*`assay cache clear embeddings`"):
        encoder.encode(TEXTS)


@pytest.mark.parametrize("weight", [NAN, INF, -1.0, 0.0])
def test_a_wrong_sparse_weight_is_named(weight, tmp_path):
    cached = CachingSparseEncoder(PlannedSparse(weight), "mine", Resources(Cache(tmp_path)))
    for ask in (cached.encode_query, lambda text: cached.encode([text])):
        with pytest.raises(AssayError, match="mine: the sparse vector of 'bread' has a weight"):
            ask("bread")
    with pytest.raises(AssayError, match="not finite"):
        SparseVector.of(np.array([0.0, NAN], np.float32))


def test_rows_of_another_form_are_refused_or_read():
    with pytest.raises(AssayError, match=r"float64 of shape \(2, 2\) for 1 texts"):
        check_vectors("mine", np.eye(2), ["a"])
    with pytest.raises(AssayError, match="of shape"):
        check_vectors("mine", [["a", "b"]], ["a"])
    for doubles in ([[0.6, 0.8]], np.array([[0.6, 0.8]])):
        assert check_vectors("mine", doubles, ["a"]).dtype == np.float32


@given(st.lists(st.lists(st.floats(width=32), min_size=3, max_size=3), min_size=1, max_size=4))
def test_all_that_passes_is_finite_and_of_length_1(rows):
    unit = [[1.0, 0.0, 0.0]] * len(rows)
    for given_ in (rows, unit):
        fits = all(
            np.isfinite(row).all() and abs(np.linalg.norm(row) - 1) < 0.009 for row in given_
        )
        try:
            found = check_vectors("mine", np.array(given_, np.float32), ["x"] * len(given_))
        except AssayError:
            assert not fits
        else:
            assert np.isfinite(found).all()
            assert np.linalg.norm(found, axis=1) == pytest.approx(1, abs=0.011)


class Unsure(CrossEncoder):
    identity = "unsure"

    def __init__(self, score):
        self.bread = score

    def score(self, query, texts):
        return [self.bread if text == "bread" else 1.0 for text in texts]


@pytest.mark.parametrize("kept", [True, False])
def test_a_score_of_a_reranker_that_is_no_number_is_named(kept, tmp_path):
    cache = Cache(tmp_path) if kept else None
    model = Unsure(NAN)
    stage = Rerank(model, lambda score: score, RerankSettings(type="rerank"), cache)
    with pytest.raises(AssayError, match="rerank: the model gives nan to 'bread'"):
        stage._judge("what", TEXTS)
    model.bread = 0.5
    assert stage._judge("what", TEXTS) == [1.0, 1.0, 0.5], "nothing wrong was kept"
