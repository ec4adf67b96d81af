"""Judgments of documents that the corpus lacks: kept as never found, and told once."""

import ir_measures
import pytest
from samples.collection_folders import write_beir

from assay import run
from assay.eval.collections.catalog import find_card
from assay.eval.collections.check import check
from assay.eval.collections.loading import load
from assay.retrievers.base import AssayError

DOCUMENTS = {"d1": "apples", "d2": "bread", "d3": "cats"}
QUERIES = {"q1": "apples", "q2": "bread"}
JUDGMENTS = {"q1": {"d1": 1, "gone": 2, "away": 0}, "q2": {"d2": 1, "gone": 1}}


def test_they_count_as_trec_eval_counts_them():
    collection = {"documents": DOCUMENTS, "queries": QUERIES, "judgments": JUDGMENTS}
    found = run("bm25", collection=collection, measures=["nDCG@10", "Recall@10"], track=False)
    ranking = {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}
    wanted = [ir_measures.parse_measure(name) for name in ("nDCG@10", "R@10")]
    right = ir_measures.calc_aggregate(wanted, JUDGMENTS, ranking)
    means = found.tables["measures"]["mean"].to_list()
    assert means == pytest.approx([right[name] for name in wanted])


def test_a_check_tells_of_them_once(tmp_path):
    folder = write_beir(tmp_path, DOCUMENTS, QUERIES, JUDGMENTS)
    assert {item.id for items in load(str(folder)).gold.values() for item in items} == {
        "d1", "d2", "gone", "away",
    }  # fmt: skip
    told = [item.message for item in check(find_card(str(folder))) if "lacks" in item.message]
    assert told == [
        "judgments of documents that the collection lacks: 3, of 2 documents "
        '(first: "gone"); nothing can find these'
    ]


@pytest.mark.parametrize(
    ("judgments", "told"),
    [
        ({"q1": {"x1": 1}, "q2": {"x2": 1}}, "no judged document is there"),
        ({"q1": {"d1": 1}, "q2": {"d02": 1}}, "differ by leading zeros"),
    ],
)
def test_ids_of_another_corpus_are_refused(tmp_path, judgments, told):
    write_beir(tmp_path, DOCUMENTS, QUERIES, judgments)
    with pytest.raises(AssayError, match=told):
        load(str(tmp_path))
