"""Scores of answers that are not stored are those of a stored run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.planned_runs import Planned, make_collection, make_run

from assay.eval.runs.execution.unstored import score_queries
from assay.eval.runs.summary.summary import summarise
from assay.eval.scoring.calculation import MOST, calculate
from assay.retrievers.base import AssayError

RANKS = (1, 3, 0, 12, 2, 7)


@pytest.mark.parametrize("measure", ["nDCG@10", "MRR@10", "Recall@20", "Recall@5tok", "Tokens@10"])
def test_scores_are_those_of_a_run(tmp_path, measure):
    collection = make_collection(len(RANKS))
    run = make_run(tmp_path, "planned", RANKS, collection=collection)
    retriever = Planned(RANKS)
    retriever.index(collection.documents)
    scores = score_queries(retriever, collection, collection.queries, measure, 100)
    assert scores == summarise(run, [measure]).scores[measure]
    some = score_queries(retriever, collection, collection.queries[2:4], measure, 100)
    assert some == {query: scores[query] for query in ("q2", "q3")}


def test_what_cannot_be_scored_is_refused():
    collection = make_collection(2)
    retriever = Planned((1, 2), degraded=["the keyword leg is down"])
    retriever.index(collection.documents)
    with pytest.raises(AssayError, match="q0: the keyword leg is down"):
        score_queries(retriever, collection, collection.queries, "nDCG@10", 10)
    with pytest.raises(AssayError, match="Bpref: query q has a judgment of grade 1,000,001; allow"):
        calculate(["Bpref"], {"q": {"a": MOST + 1}}, {"q": {"a": 1.0}})


GRADES = st.integers(-(2**53), -1) | st.integers(-3, 4) | st.sampled_from([10_000, MOST])
JUDGED = st.dictionaries(st.sampled_from("abcd"), GRADES, max_size=4)
TREC = ("nDCG", "nDCG(judged_only=True)@5", "Bpref", "Rprec", "infAP", "SetP", "SetF", "SetAP",
        "AP", "RR", "P(judged_only=True)@5", "IPrec@0.1", "NumRet(rel=1)", "Judged@10",
        "Compat(p=0.8)")  # fmt: skip


@given(JUDGED, st.sampled_from(TREC))
def test_no_grade_ends_the_process_or_moves_another_query(grades, measure):
    run = {"q1": {"a": 2.0, "x": 1.0}, "q2": {"b": 3.0, "a": 2.0, "y": 1.0}}
    one = calculate([measure], {"q1": {"a": 1}}, run)[measure]
    both = calculate([measure], {"q1": {"a": 1}, "q2": grades}, run)[measure]
    assert both["q1"] == one["q1"]
    if measure != "Judged@10" and max(grades.values(), default=0) <= 0:
        assert both["q2"] == 0


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 5), min_size=1))
def test_ndcg_of_a_whole_ranking_is_that_to_its_last_place(grades):
    run = {"q": {id_: float(-place) for place, id_ in enumerate("xaybc")}}
    whole = calculate(["nDCG", "nDCG@50"], {"q": grades}, run)
    assert whole["nDCG"] == pytest.approx(whole["nDCG@50"])
