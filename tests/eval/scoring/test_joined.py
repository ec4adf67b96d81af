"""Joined rankings of a run in arrays: the same, to the bit, as query by query."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.joined_rankings import join_all

from assay.eval.collections.collection import GoldItem
from assay.eval.scoring import calculation, measures
from assay.eval.scoring.grid import lay_out
from assay.eval.scoring.join import RetrievedChunk, join
from assay.retrievers.base import Chunk

# Four documents of three chunks, which overlap; some are called as gold items are.
CHUNKS = [
    Chunk(f"d{document}[{10 * i}:{10 * i + 15}]" if i else f"d{document}", f"d{document}",
          10 * i, 10 * i + 15, "word " * (3 * document + i))
    for document in range(4) for i in range(3)
]  # fmt: skip
rankings = st.lists(st.sampled_from(CHUNKS), unique=True)


@st.composite
def items(draw, query):
    document = f"d{draw(st.integers(0, 4))}"
    start = draw(st.integers(0, 30))
    end = start + draw(st.integers(1, 20))
    passage = draw(st.sampled_from(["", document]))
    other = f"d{draw(st.integers(0, 4))}"  # a chunk's name, which need not be in this document
    id_ = draw(st.sampled_from([other, f"{document}[{start}:{end}]"]))
    return GoldItem(query, id_, document, start, end, draw(st.integers(0, 3)), passage)


@st.composite
def runs(draw):
    queries = [f"q{i}" for i in range(draw(st.integers(1, 4)))]
    judged = {
        query: draw(st.lists(items(query), max_size=5, unique_by=lambda item: item.id))
        for query in queries
    }
    return {query: draw(rankings) for query in queries}, judged


@given(
    runs(),
    st.sets(st.sampled_from([chunk.id for chunk in CHUNKS])),
    st.sets(st.sampled_from([chunk.doc_id for chunk in CHUNKS])),
    st.integers(1, 12),
)
def test_rankings_of_a_run_are_joined_as_each_alone(run, prescribed, unwanted, k):
    listed, gold = run
    found = join_all(listed, gold, prescribed, unwanted)
    alone = {
        query: join(
            [
                RetrievedChunk(chunk, chunk.id in prescribed, chunk.doc_id in unwanted)
                for chunk in chunks
            ],
            gold[query],
        )
        for query, chunks in listed.items()
    }
    # A share counts documents alone, whatever the judgments.
    shares = measures.score([f"Unwanted@{k}"], found, gold)[f"Unwanted@{k}"]
    for query, chunks in listed.items():
        first = [chunk.doc_id in unwanted for chunk in chunks[:k]]
        assert shares[query] == (sum(first) / len(first) if first else 0)
    assert dict(found) == alone
    assert found.condensed == {
        query: [hit for hit in hits if hit.judged] for query, hits in alone.items()
    }
    assert calculation.qrels(found.condensed, gold) == calculation.qrels(alone, gold)
    one, other = lay_out(found, gold), lay_out(alone, gold)
    for field in fields(one):
        if field.name not in ("joined", "fitting"):
            assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name
    for budget in (1, 7, 12, 40, 1000):
        assert one.limit(None, budget).tolist() == other.limit(None, budget).tolist()
    for cutoff in (1, 3, None):
        assert one.sum_tokens(cutoff).tolist() == other.sum_tokens(cutoff).tolist()
    names = [*measures.DEFAULT, "AP", "hit_nDCG@5", "Recall@12tok", "Empty"]
    wanted = measures.score(names, alone, gold)
    assert measures.score(names, found, gold) == wanted
    assert measures.score(names, found, dict(reversed(gold.items()))) == wanted


@pytest.mark.parametrize("grade", [1, 3])
def test_a_chunk_called_as_an_item_of_another_document_is_not_the_item(grade):
    gold = {"q": [GoldItem("q", "d1", "d0", 100, 120, grade)]}
    found = join_all({"q": [CHUNKS[3]]}, gold, set())
    assert [hit.alias for hit in found["q"]] == ["d1#chunk"]
    assert measures.score(["Hit@1"], found, gold) == {"Hit@1": {"q": 0.0}}
