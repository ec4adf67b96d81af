"""Duplicates and diversity: content hash, n-grams, embeddings, MMR."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.ranked_lists import apply, ids, make_chunk, make_hits

from assay.retrievers.base import Chunk
from assay.retrievers.models.base import Encoder
from assay.retrievers.models.caching import CachingEncoder
from assay.retrievers.settings import Resources
from assay.retrievers.stages.drops import (
    ContentHash,
    Ngram,
    NgramSettings,
    Semantic,
    Similarity,
    keep_unlike,
)
from assay.retrievers.stages.mmr import Mmr, MmrSettings, choose
from assay.retrievers.store.cache import Cache

WORDS = st.lists(st.sampled_from("ab"), max_size=9).map(" ".join)
TEXTS = st.lists(WORDS, max_size=12)


class Angles(Encoder):
    """Reads a text as an angle in degrees: the cosine of two texts is that of their difference."""

    identity = "angles"

    def encode_passages(self, texts):
        radians = np.radians([float(text) for text in texts])
        return np.column_stack([np.cos(radians), np.sin(radians)]).astype(np.float32)

    def encode_query(self, text):
        return self.encode_passages([text])[0]


@pytest.fixture
def angles(tmp_path):
    return CachingEncoder(Angles(), "angles", Resources(Cache(tmp_path)))


def list_texts(texts):
    return make_hits(make_chunk(f"c{i:02}", text) for i, text in enumerate(texts))


def make_ngram(unit="word", n=3, threshold=0.7):
    return Ngram(NgramSettings(type="ngram", unit=unit, n=n, threshold=threshold))


def test_texts_that_read_the_same_are_one():
    result = apply(ContentHash(), list_texts(["a  b\n\nc", "a b", " a b c\n", "A b c", "a b"]))
    assert ids(result.hits) == ["c00", "c01", "c03"]
    titled = [Chunk("a", "d", 0, 1, "x", title="T"), Chunk("b", "d", 0, 1, "x", title="U")]
    assert len(apply(ContentHash(), make_hits(titled)).hits) == 2
    assert apply(make_ngram(), []).hits == []
    assert result.counts == {"in": 5, "out": 3}
    assert "2 hits" in result.note


def test_what_reads_the_same_is_counted_apart():
    """Two words have no trigrams, so that a short duplicate stays."""
    texts = ["a b c d", "a  b c\nd", "a b", "a b", "A b c d", "x y z"]
    result = apply(make_ngram(), list_texts(texts))
    assert ids(result.hits) == ["c00", "c02", "c03", "c05"]
    assert result.counts == {"in": 6, "out": 4, "exact": 2, "exact_dropped": 1}


@pytest.mark.parametrize(("threshold", "kept"), [(0.33, ["c00"]), (0.34, ["c00", "c01"])])
def test_jaccard_of_characters_by_hand(threshold, kept):
    """Trigrams {abc, bcd} and {abc, bce}: one shared of three."""
    stage = make_ngram("character", threshold=threshold)
    assert ids(apply(stage, list_texts(["ab cd", "A\nbce"])).hits) == kept


def jaccard(one, other, n):
    sets = [
        {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}
        for words in (one.split(), other.split())
    ]
    either = sets[0] | sets[1]
    return len(sets[0] & sets[1]) / len(either) if either else 0.0


@given(texts=TEXTS, n=st.integers(1, 4), threshold=st.sampled_from([0.2, 0.5, 2 / 3, 1.0]))
def test_ngrams_decide_as_plain_sets_do(texts, n, threshold):
    kept = []
    for i, text in enumerate(texts):
        if all(jaccard(text, texts[other], n) < threshold for other in kept):
            kept.append(i)
    result = apply(make_ngram(n=n, threshold=threshold), list_texts(texts))
    assert ids(result.hits) == [f"c{i:02}" for i in kept]


@given(texts=TEXTS, make=st.sampled_from([ContentHash, make_ngram]))
def test_deduplication_keeps_the_order_and_leaves_nothing_to_do(texts, make):
    hits = list_texts(texts)
    once = apply(make(), hits).hits
    assert [hit for hit in hits if hit in once] == once
    assert once[:1] == hits[:1]
    assert apply(make(), once).hits == once


def test_a_paraphrase_gives_way_to_the_better_hit(angles):
    """cos 30° is .866, cos 32° .848: the third resembles the second alone, which is not kept."""
    result = apply(Semantic(angles, 0.85), list_texts(["0", "30", "60", "90", "-32"]))
    assert ids(result.hits) == ["c00", "c02", "c04"]
    assert result.counts == {"in": 5, "out": 3}
    assert "2 hits" in result.note


def make_mmr(angles, **settings):
    given = MmrSettings.model_validate({"type": "mmr", **settings})
    return Mmr(given, Similarity(angles))


def test_mmr_by_hand(angles):
    """With λ = 0.5 the second, .9 relevant but at 10° from the first, falls behind the third.

    0.5 * 1; then 0.5 * 0 - 0.5 * cos 90° = 0 against 0.5 * 0.9 - 0.5 * cos 10° = -0.0424.
    """
    hits = make_hits(
        [make_chunk("a", "0"), make_chunk("b", "10"), make_chunk("c", "90")], [2, 1.9, 1]
    )
    result = apply(make_mmr(angles, relevance_weight=0.5), hits)
    assert ids(result.hits) == ["a", "c", "b"]
    assert [hit.score for hit in result.hits] == pytest.approx([0.5, 0, -0.0424], abs=1e-4)
    assert result.counts == {"in": 3, "out": 3, "moved": 2}
    # Scores may be taken as they are.
    hits = make_hits([make_chunk("a", "0"), make_chunk("b", "90")], [0.9, 0.8])
    for settings, scores in (({}, [0.7, 0.0]), ({"relevance": "score"}, [0.63, 0.56])):
        found = apply(make_mmr(angles, **settings), hits).hits
        assert [hit.score for hit in found] == pytest.approx(scores, abs=1e-6)


def test_mmr_chooses_what_is_unlike_the_pinned_hits_which_stay_first(angles):
    """0.5 * 1 - 0.5 * cos 90° for the one chosen; the pinned 1 above, what is left below."""
    hits = make_hits(
        [make_chunk("a", "0"), make_chunk("b", "90"), make_chunk("c", "-10")], [30, 2, 1]
    )
    named = [replace(hits[0], pinned=True), *hits[1:]]
    result = apply(make_mmr(angles, relevance_weight=0.5, top_n=2), named)
    assert ids(result.hits) == ["a", "b", "c"]
    assert [hit.score for hit in result.hits] == pytest.approx([1.5, 0.5, -0.5], abs=1e-6)
    all_named = [replace(hit, pinned=True) for hit in hits]
    assert ids(apply(make_mmr(angles, relevance_weight=0.0), all_named).hits) == ["a", "b", "c"]


RELEVANCE = st.lists(st.floats(0, 1), min_size=1, max_size=12).map(
    lambda scores: np.array(sorted(scores, reverse=True))
)


@given(
    relevance=RELEVANCE, seed=st.integers(0, 99), weight=st.floats(0, 1), count=st.integers(1, 15)
)
def test_mmr_scores_descend_and_a_weight_of_1_changes_nothing(relevance, seed, weight, count):
    vectors = np.random.default_rng(seed).normal(size=(len(relevance), 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    similarity = vectors @ vectors.T
    chosen = choose(relevance, similarity, weight, count)
    rows = [row for row, _ in chosen]
    assert len(set(rows)) == len(rows) == min(count, len(relevance))
    assert rows[0] == 0 or weight == 0
    assert all(one >= other for (_, one), (_, other) in pairwise(chosen))
    unchanged = choose(relevance, similarity, 1.0, count)
    assert [row for row, _ in unchanged] == list(range(len(rows)))


@given(seed=st.integers(0, 99), threshold=st.floats(0, 0.99))
def test_no_two_that_are_kept_are_alike(seed, threshold):
    vectors = np.random.default_rng(seed).normal(size=(8, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    similarity = vectors @ vectors.T
    kept = keep_unlike(similarity, threshold)
    for row in range(8):
        above = [other for other in kept if other < row]
        assert (row in kept) == all(similarity[row, other] < threshold for other in above)
