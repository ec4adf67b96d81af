"""Scores that contradict the order of hits are reported, and change no figure."""

import json
from collections.abc import Sequence

import pytest
from samples.planned_runs import make_collection

from assay import compare, run
from assay.eval.runs.execution.execution import RunSpec, execute, make_ready
from assay.eval.runs.execution.unstored import search_unstored
from assay.eval.runs.latency import LatencySettings
from assay.eval.runs.run_files import read_run_file
from assay.eval.studies.run.verifying import verify
from assay.retrievers.base import (
    AssayError,
    Chunk,
    Hit,
    IndexReport,
    Quiet,
    Ranking,
    Retriever,
)

Pairs = Sequence[tuple[str, float | None]]
TEXTS = {f"d{i}": f"text number {i}" for i in range(6)}

TWO = {
    "documents": TEXTS,
    "queries": {"q0": "question 0", "q1": "question 1"},
    "judgments": {"q0": {"d2": 1, "d4": 2}, "q1": {"d1": 1}},
}
EQUAL = {"question 0": [("d1", 1.0), ("d4", 1.0), ("d2", 1.0)], "question 1": [("d1", 1.0)]}
RISING = {"question 0": [("d4", 0.1), ("d1", 0.5), ("d2", 0.2)], "question 1": [("d1", 1.0)]}
TOLD = "n 1 of 2 queries (first: q0) a hit has a higher score than the one before it. "


@pytest.fixture
def reports(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("answers", "mrr", "warnings"), [(EQUAL, 0.75, 0), (RISING, 1.0, 1)], ids=["equal", "rising"]
)
def test_what_a_run_exports_has_its_figures_and_its_order(answers, mrr, warnings, reports):
    made = run(
        lambda query, k: answers[query],
        collection=TWO,
        measures=["MRR@10", "nDCG@10", "Recall@2", "P@2"],
        track=False,
    )
    assert made.tables["measures"]["mean"]["MRR@10"] == mrr
    told = [line for line in made.report.warnings if TOLD in line]
    assert len(told) == warnings
    assert (TOLD in made.verdict) == bool(warnings)
    checks = verify(made.stored.folder)
    assert {check.verdict for check in checks} == {"identical"}
    exported = read_run_file(made.stored.folder / "run.trec")
    assert not exported.notes
    (rankings,) = exported.systems.values()
    assert {f"question {i}": rankings[f"q{i}"] for i in (0, 1)} == {
        query: tuple(id_ for id_, _ in hits) for query, hits in answers.items()
    }
    again = run(made.stored.folder / "run.trec", collection=TWO, track=False)
    compared = compare(made, again)
    assert set(compared.tables["differences"]["difference"]) == {0.0}
    assert sum(TOLD in line for line in compared.found.warnings) == warnings


def test_a_resumed_run_counts_all_that_rise(tmp_path):
    """Also those of a sweep, of which nothing is stored."""
    count = 5
    planned = make_collection(count)
    order = [Hit(Chunk("d0", "d0", 0, 13, "text number 0"), 1.0),
             Hit(Chunk("d1", "d1", 0, 13, "text number 1"), 2.0)]  # fmt: skip

    class Failing(Retriever):
        left = 3

        def index(self, documents):
            return IndexReport(len(documents))

        def search(self, query, k):
            self.left -= 1
            if self.left < 0:
                raise KeyError("power")
            return Ranking(tuple(order) if query != "question 0" else tuple(order[:1]))

    plan = RunSpec("x", {"name": "x"}, 10, None, LatencySettings(queries=0))
    retriever = Failing()
    with pytest.raises(AssayError, match="power"):
        execute(plan, retriever, planned, tmp_path, Quiet())
    retriever.left = count
    stored = execute(plan, retriever, planned, tmp_path, Quiet()).run
    rising = stored.manifest.rising_scores
    assert (rising.queries, rising.searched, rising.first) == (count - 1, count, "q1")
    retriever.left = count
    ready = make_ready(plan, retriever, planned)
    unstored = search_unstored(plan, retriever, planned, ready, {}, {})
    assert unstored.manifest.rising_scores == rising


def test_rankings_that_are_read_are_told_of(reports, capfd):
    rankings = {"q0": RISING["question 0"], "q1": RISING["question 1"]}
    made = run(rankings, collection=TWO, measures=["MRR@10"], track=False)
    assert made.tables["measures"]["mean"]["MRR@10"] == 1.0
    assert capfd.readouterr().err.startswith(f"rankings: i{TOLD}")
    lines = reports / "theirs.jsonl"
    lines.write_text(
        "".join(f"{json.dumps({'query_id': q, 'ranking': r})}\n" for q, r in rankings.items())
    )
    assert read_run_file(lines).notes[0].startswith(f"{lines}: theirs: i{TOLD}")
