"""The collection of filtered queries: sound, and without a leak."""

from tools.processes import ROOT

from assay.eval.collections.catalog import find_card
from assay.eval.collections.check import check
from assay.eval.collections.loading import load
from assay.eval.collections.permissions import find_allowed

KEPT = ROOT / "datasets/tarnwick_filters"


def test_each_query_may_find_an_answer_that_tarnwick_has():
    card = find_card(str(KEPT))
    assert not [item for item in check(card) if item.severity == "error"]
    made, whole = load(str(KEPT)), load("tarnwick:all")
    assert len(made.queries) == 120
    for query in made.queries:
        allowed = find_allowed(card, query)
        assert allowed
        old = {(i.doc_id, i.start, i.end): i.grade for i in whole.gold[query.metadata["from"]]}
        gold = made.gold[query.id]
        assert any(item.grade >= 2 for item in gold)
        for item in gold:
            assert allowed.matches(made.by_id[item.doc_id].metadata)
            assert old[item.doc_id, item.start, item.end] == item.grade
