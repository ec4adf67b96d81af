"""Texts that a model does not read to their end are counted and told."""

import pytest

from assay import run

pytestmark = pytest.mark.slow

FILLER = "The harbour office keeps a list of all moorings and of those who wait for one. " * 40
LONG = {"d1": f"{FILLER}The ferry sails twice a day.", "d2": "Dogs travel on the open deck."}
QUERIES = {"q1": "when does the ferry sail", "q2": "dogs"}
JUDGMENTS = {"q1": {"d1": 1}, "q2": {"d2": 1}}
RERANKED = {
    "name": "read",
    "retriever": {
        "type": "pipeline",
        "legs": {"keyword": {"type": "bm25"}},
        "stages": [{"type": "rerank"}],
    },
}
DENSE = {
    "name": "embedded",
    "retriever": {"type": "pipeline", "legs": {"dense": {"type": "dense"}}},
}


def measure(what, documents, queries):
    collection = {"documents": documents, "queries": queries, "judgments": JUDGMENTS}
    return run(what, collection=collection, track=False)


def test_texts_that_a_reranker_or_an_encoder_cuts_are_counted_and_told():
    found = measure(RERANKED, LONG, QUERIES)
    assert found.stored.manifest.cut == {"rerank": 1}
    page = (found.stored.folder / "report.md").read_text()
    assert "Models did not read all texts to their end, over 2 queries (rerank: 1)" in page
    found = measure(DENSE, {**LONG, "d1": "The ferry sails."}, {**QUERIES, "q1": FILLER})
    assert found.stored.manifest.cut == {"query": 1}
    legs = RERANKED["retriever"]["legs"]
    stages = [{"type": "semantic"}]
    what = {"name": "staged", "retriever": {"type": "pipeline", "legs": legs, "stages": stages}}
    facts = measure(what, LONG, QUERIES).stored.manifest.index.facts
    assert (facts["unread"], facts["window"]) == (1, 512)


@pytest.mark.parametrize("what", [RERANKED, DENSE])
def test_nothing_is_told_of_texts_that_are_read_whole(what):
    found = measure(what, {**LONG, "d1": "The ferry sails twice a day."}, QUERIES)
    assert found.stored.manifest.cut == {}
    assert "to their end" not in (found.stored.folder / "report.md").read_text()
