"""Dense search on shortened and quantised vectors, against exact search."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from assay.retrievers.base import AssayError, Chunk
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.engines.recall import measure_recall
from assay.retrievers.legs.compression import CompressedVectors
from assay.retrievers.legs.dense import DenseLegSettings
from assay.retrievers.part_conformance import check_part

FORMS = ["none", "int8", "binary"]


def make_vectors(rows, width, seed=0):
    values = np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)
    return values / np.linalg.norm(values, axis=1, keepdims=True)


def rank(vectors, query):
    return np.argsort(-(vectors.astype(np.float64) @ query), kind="stable").tolist()


def test_int8_scores_are_cosines_but_for_half_a_step():
    vectors, query = make_vectors(300, 64), make_vectors(1, 64, 1)[0]
    found = dict(CompressedVectors(vectors, None, "int8", None).search(query, 300))
    cosines = vectors @ query
    errors = np.abs([found[i] - cosines[i] for i in range(300)])
    # Each dimension is off by half a step at most, a step being the greatest / 127.
    assert errors.max() <= np.abs(vectors).max() / 127 / 2 * np.abs(query).sum()
    assert 0 < errors.max() < 0.02


def test_scores_of_signs_and_of_the_first_dimensions():
    vectors, query = make_vectors(50, 30), make_vectors(1, 30, 1)[0]  # not a multiple of 8
    heads = vectors[:, :10] / np.linalg.norm(vectors[:, :10], axis=1, keepdims=True)
    for dimensions, form, wanted in (
        (None, "binary", (np.sign(vectors) @ np.sign(query)) / 30),
        (10, "none", heads @ query[:10] / np.linalg.norm(query[:10])),
    ):
        found = dict(CompressedVectors(vectors, dimensions, form, None).search(query, 50))
        assert [found[i] for i in range(50)] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_rescoring_all_is_exact_search(form):
    vectors, query = make_vectors(200, 32), make_vectors(1, 32, 1)[0]
    small = CompressedVectors(vectors, 8, form, 200)
    found = small.search(query, 20)
    assert [i for i, _ in found] == rank(vectors, query)[:20]
    assert [score for _, score in found] == pytest.approx(np.sort(vectors @ query)[::-1][:20])
    assert measure_recall(small.search, vectors, depth=20) == 1
    assert measure_recall(CompressedVectors(vectors, 8, form, None).search, vectors, depth=20) < 1
    sizes = {"none": 4 * 32, "int8": 32 + 4, "binary": 4}  # bytes that a search reads of a text
    assert CompressedVectors(vectors, None, form, None).bytes == 200 * sizes[form]
    assert CompressedVectors(vectors, None, form, 9).bytes == 200 * (sizes[form] + 4 * 32)


@given(
    form=st.sampled_from(FORMS),
    dimensions=st.none() | st.integers(1, 12),
    rescore=st.none() | st.integers(1, 40),
    depths=st.tuples(st.integers(1, 60), st.integers(1, 60)).map(sorted),
    seed=st.integers(0, 5),
)
def test_lists_fall_and_shorter_ones_are_their_heads(form, dimensions, rescore, depths, seed):
    vectors = np.repeat(make_vectors(20, 12, seed), 2, axis=0)  # each twice: ties
    query = make_vectors(1, 12, 9)[0]
    small = CompressedVectors(vectors, dimensions, form, rescore)
    short, long = (small.search(query, depth) for depth in depths)
    assert len(long) == min(depths[1], 40)
    assert short == long[: depths[0]]
    keys = [(-score, i) for i, score in long]
    assert keys == sorted(keys)


TEXTS = (
    "Cats are kept as pets.",
    "The rate rose.",
    "Run pip to install.",
    "Dogs are kept as pets.",
)
CORPUS = Corpus([Chunk(f"c{9 - i}", "d", 0, len(text), text) for i, text in enumerate(TEXTS)])


def test_the_leg_tells_its_recall_and_its_form(model_workshop):
    values = {"type": "dense", "quantisation": "binary", "dimensions": 64, "rescore": 2}
    leg = DenseLegSettings.model_validate(values).build(model_workshop)
    exact = DenseLegSettings(type="dense").build(model_workshop)
    report, whole = leg.index(CORPUS), exact.index(CORPUS)
    assert (report.bytes, whole.bytes) == (4 * (8 + 384 * 4), 4 * 384 * 4)
    assert leg.metadata()["search"] == "binary of 64 dimensions, 2 rescored"
    assert leg.metadata()["recall_against_exact"] == 1.0  # of four texts all four are found
    assert "recall_against_exact" not in exact.metadata()
    found, wanted = (item.search("household animals", 2).candidates for item in (leg, exact))
    assert found == [(i, pytest.approx(score)) for i, score in wanted]
    assert leg.index(Corpus(())).bytes == 0
    assert "recall_against_exact" not in leg.metadata()
    wide = DenseLegSettings(type="dense", dimensions=385).build(model_workshop)
    with pytest.raises(AssayError, match=r"^dimensions: 385; the encoder gives 384$"):
        wide.index(CORPUS)


def test_the_rules_of_legs_are_kept(model_workshop):
    values = {"type": "dense", "dimensions": 64, "quantisation": "int8", "rescore": 3}
    check_part(DenseLegSettings.model_validate(values), model_workshop)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rescore": 10}, "rescore: needs quantisation or dimensions"),
        ({"windows": "max", "quantisation": "int8"}, "windows: max is not there with"),
        ({"windows": "max", "dimensions": 8}, "windows: max is not there with"),
    ],
)
def test_what_does_not_fit_is_refused(values, message):
    with pytest.raises(ValidationError, match=message):
        DenseLegSettings.model_validate({"type": "dense", **values})
