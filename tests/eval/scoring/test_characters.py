"""Characters that chunks and gold items share, beside sets of characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.eval.collections.collection import GoldItem
from assay.eval.scoring.join import RetrievedChunk, join
from assay.eval.scoring.measures import find
from assay.retrievers.base import Chunk

SPANS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.integers(1, 12)), max_size=6
)


def score(chunks, gold):
    ranking = [
        RetrievedChunk(Chunk(f"c{i}", document, start, end, "x" * (end - start)))
        for i, (document, start, end) in enumerate(chunks)
    ]
    items = [
        GoldItem("q", f"{document}[{start}:{end}]", document, start, end, grade)
        for document, start, end, grade in gold
    ]
    names = ("CharRecall@3", "CharPrecision@3", "CharIoU@3")
    return [
        measure.score_queries({"q": measure.cut(join(ranking, items))}, {"q": items})["q"]
        for measure in map(find, names)
    ]


def test_chunks_that_overlap_find_once_and_cost_twice():
    # Characters 10 to 30 are relevant; 10 to 25 are found by chunks of 20 characters each.
    assert score([("a", 0, 20), ("a", 5, 25)], [("a", 10, 30, 1)]) == [15 / 20, 15 / 40, 15 / 45]
    assert score([("b", 10, 30)], [("a", 10, 30, 1)]) == [0, 0, 0]
    assert score([], [("a", 10, 30, 2)]) == [0, 0, 0]
    assert score([("a", 0, 5)], [("a", 0, 5, 0)]) == [0, 0, 0]


@given(SPANS, SPANS)
def test_the_counts_are_those_of_sets_of_characters(chunks, gold):
    chunks = [(document, start, start + size) for document, start, size in chunks]
    gold = [(document, start, start + size, 1) for document, start, size in gold]
    first = [{(name, at) for at in range(start, end)} for name, start, end in chunks[:3]]
    wanted = {(name, at) for name, start, end, _ in gold for at in range(start, end)}
    shared = len(set().union(*first) & wanted)
    returned = sum(map(len, first))
    expected = [
        shared / len(wanted) if wanted else 0,
        shared / returned if returned else 0,
        shared / (returned + len(wanted) - shared) if returned or wanted else 0,
    ]
    assert score(chunks, gold) == pytest.approx(expected, abs=1e-15)
