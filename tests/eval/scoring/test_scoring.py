"""Scores of answers that are not stored are those of a stored run."""

import pytest
from samples.planned_runs import Planned, make_collection, make_run

from assay.eval.runs.execution.unstored import score_queries
from assay.eval.runs.summary.summary import summarise
from assay.retrievers.base import AssayError

RANKS = (1, 3, 0, 12, 2, 7)


@pytest.mark.parametrize("measure", ["nDCG@10", "MRR@10", "Recall@20", "Recall@5tok", "Tokens@10"])
def test_scores_are_those_of_a_run(tmp_path, measure: str) -> None:
    collection = make_collection(len(RANKS))
    run = make_run(tmp_path, "planned", RANKS, collection=collection)
    retriever = Planned(RANKS)
    retriever.index(collection.documents)
    scores = score_queries(retriever, collection, collection.queries, measure, 100)
    assert scores == summarise(run, [measure]).scores[measure]
    some = score_queries(retriever, collection, collection.queries[2:4], measure, 100)
    assert some == {query: scores[query] for query in ("q2", "q3")}


def test_degraded_answers_are_refused() -> None:
    collection = make_collection(2)
    retriever = Planned((1, 2), degraded=["the keyword leg is down"])
    retriever.index(collection.documents)
    with pytest.raises(AssayError, match="q0: the keyword leg is down"):
        score_queries(retriever, collection, collection.queries, "nDCG@10", 10)
