"""The exported files of a run give every figure again, and a change in them is found."""

import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import ir_measures
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from samples.planned_runs import make_collection, make_run

from assay.eval.api import run
from assay.eval.collections.collection import GoldItem
from assay.eval.runs.summary.exports import as_word, export
from assay.eval.runs.summary.summary import summarise
from assay.eval.scoring.measures import DEFAULT
from assay.eval.studies.run.verifying import verify
from assay.retrievers.base import AssayError

MEASURES = (
    *DEFAULT, "AP", "AP@3", "nDCG", "nDCG@1", "hit_nDCG@10", "ERR@10", "nDCG(dcg='exp-log2')@10",
    "P(rel=2)@5", "Empty", "NumRet", "Recall(rel=2)@1", "Recall@7tok", "Bpref", "Rprec", "SetP",
)  # fmt: skip
RANKS = (1, 3, 0, 2, 7, 1)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The folder of a run whose gold chunks cover one to three items each."""
    collection = make_collection(len(RANKS))
    gold = {}
    for i, query in enumerate(collection.queries):
        cuts = [0, 6, 10, 13][: 2 + i % 3]
        gold[query.id] = tuple(
            GoldItem(query.id, f"d {i}[{start}:{end}]", f"d{i}", start, end, 1 + start % 3)
            for start, end in pairwise(cuts)
        )
    collection = replace(collection, gold=gold)
    planned = make_run(tmp_path_factory.mktemp("runs"), "planned", RANKS, collection=collection)
    assert any(len(hit.found) == 3 for hits in planned.joined.values() for hit in hits)
    export(summarise(planned, MEASURES))
    return planned.folder


@pytest.fixture
def folder(exported, tmp_path):
    return Path(shutil.copytree(exported, tmp_path / exported.name))


def test_every_measure_is_recomputed(folder):
    (folder / "rankings.jsonl").unlink()  # the run's own files are not needed
    checks = verify(folder)
    assert [check.measure for check in checks] == list(MEASURES)
    assert {check.verdict for check in checks} == {"identical"}
    assert all(check.told == pytest.approx(check.recomputed) for check in checks)


def test_a_score_that_was_changed_is_found(folder):
    path = folder / "per_query.csv"
    table = pd.read_csv(path, index_col="query_id")
    table.loc["q1", "Recall@20"] -= 1e-6
    table.to_csv(path)
    wrong = [check for check in verify(folder) if check.differing]
    assert [(check.measure, check.differing) for check in wrong] == [("Recall@20", ("q1",))]
    assert wrong[0].verdict == "differs on 1 queries"


SPACED = {
    "documents": {"pay slip": "apples", "pay_slip": "bread", "pay  slip": "cats"},
    "queries": {"q 1": "apples", "q_1": "bread", "q\u00a01": "cats"},
    "judgments": {"q 1": {"pay slip": 1}, "q_1": {"pay_slip": 1}, "q\u00a01": {"pay  slip": 1}},
}


def test_ids_that_differ_in_white_space_alone_stay_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = ["pay_slip", "pay slip", "pay  slip"]
    rankings = dict.fromkeys(SPACED["queries"], found)
    made = run(rankings, collection=SPACED, measures=["RR@10", "P@1", "Recall@2"], track=False)
    folder = made.stored.folder
    assert list(made.tables["measures"]["mean"]) == pytest.approx(
        [(1 + 1 / 2 + 1 / 3) / 3, 1 / 3, 2 / 3]
    )
    assert {check.verdict for check in verify(folder)} == {"identical"}
    told = ir_measures.calc_aggregate(
        [ir_measures.RR @ 10, ir_measures.P @ 1],
        ir_measures.read_trec_qrels(str(folder / "qrels.trec")),
        ir_measures.read_trec_run(str(folder / "run.trec")),
    )
    told_by_us = list(made.tables["measures"]["mean"][:2])
    assert [told[ir_measures.RR @ 10], told[ir_measures.P @ 1]] == pytest.approx(told_by_us)


IDS = st.text(st.sampled_from("a_ \t\\x20u\u00a0") | st.characters(), min_size=1)
WORDS = ["https://x.org/pay%20slip", "notes\\fees.md", "été.md#2", "a_b"]


@given(st.lists(IDS, min_size=2, unique=True))
@example(WORDS)
def test_an_id_is_one_word_that_no_other_id_has(ids):
    words = [as_word(id_) for id_ in ids]
    assert ids != WORDS or words == WORDS, "they stand as they are"
    assert len(set(words)) == len(ids)
    assert all(word.split() == [word] for word in words)


@pytest.mark.parametrize(
    ("name", "line", "measure"),
    [("run.trec", 0, "nDCG@10"), ("qrels.trec", 0, "P@5"), ("items.csv", 1, "Tokens@10")],
)
def test_a_line_that_is_lost_is_found(folder, name, line, measure):
    path = folder / name
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:line] + lines[line + 1 :]))
    assert measure in {check.measure for check in verify(folder) if check.differing}


@pytest.mark.parametrize("name", ["run.trec", "qrels.trec", "items.csv", "per_query.csv"])
def test_a_file_that_is_broken_or_missing_is_told_in_a_line(folder, name):
    if name == "run.trec":
        (folder / name).write_text("q1 Q0\n")
        with pytest.raises(AssayError, match="its exports cannot be read"):
            verify(folder)
    (folder / name).unlink()
    with pytest.raises(AssayError, match=f"{name}.*assay report"):
        verify(folder)
