"""Rankings made elsewhere, and the published figures they must give."""

import csv
import json
import os
from pathlib import Path

import pytest

from eval.analysis.summary import summarise
from eval.collections.loading import load
from eval.runs.execution import Plan, execute
from eval.runs.latency import LatencySettings
from eval.runs.replay import Replay, read_run_file
from eval.runs.stored import StoredRun
from retrievers.base import AssayError, Quiet

PUBLISHED = Path(os.environ.get("ASSAY_DATA", ""), "anthropic_docs", "published_results")


def write(folder: Path, text: str) -> Path:
    path = folder / "run.txt"
    path.write_text(text)
    return path


def replay(path: Path, system: str, reports: Path) -> StoredRun:
    collection = load("anthropic_docs")
    replayed = Replay(read_run_file(path), system, collection)
    plan = Plan(system, {"imported": system}, 100, None, LatencySettings(queries=0))
    return execute(plan, replayed, collection, reports, Quiet()).run


@pytest.mark.skipif("ASSAY_DATA" not in os.environ, reason="needs the shared sets: ASSAY_DATA")
@pytest.mark.parametrize("system", ["base", "level_two", "level_three"])
def test_published_runs_score_as_counted_by_hand(system: str, tmp_path: Path) -> None:
    run = replay(PUBLISHED / "runs_top3.jsonl", system, tmp_path)
    scores = summarise(run, ("RR@3", "R@3", "P@3")).scores
    for id_, ranking in run.rankings.items():
        gold = {item.id for item in run.gold[id_]}
        found = [hit.chunk.id in gold for hit in ranking.hits]
        rr = 1 / (1 + found.index(True)) if any(found) else 0
        assert scores["RR@3"][id_] == pytest.approx(rr)
        assert scores["R@3"][id_] == pytest.approx(sum(found) / len(gold))
        assert scores["P@3"][id_] == pytest.approx(sum(found) / 3)


@pytest.mark.skipif("ASSAY_DATA" not in os.environ, reason="needs the shared sets: ASSAY_DATA")
def test_published_runs_have_their_published_mrr(tmp_path: Path) -> None:
    """Level two in the mean, base query by query; the one without a list there scores 0 here.

    The lists published for level three are not those that its published figures were made from.
    """
    level_two = summarise(replay(PUBLISHED / "runs_top3.jsonl", "level_two", tmp_path), ("RR@3",))
    published = json.loads((PUBLISHED / "evaluation_results_level_two.json").read_text())
    assert published["average_mrr"] == pytest.approx(0.7733, abs=5e-5)
    assert level_two.means["RR@3"].value == pytest.approx(published["average_mrr"], abs=1e-9)
    base = summarise(replay(PUBLISHED / "runs_top3.jsonl", "base", tmp_path), ("RR@3",))
    with (PUBLISHED / "evaluation_results_detailed_one.csv").open(newline="") as file:
        rows = {row["question"]: float(row["retrieval_mrr"]) for row in csv.DictReader(file)}
    unknown = [id_ for id_, ranking in base.run.rankings.items() if not ranking.hits]
    assert len(unknown) == 1
    for id_, query in base.run.queries.items():
        expected = 0.0 if id_ in unknown else rows[query.text]
        assert base.scores["RR@3"][id_] == pytest.approx(expected)


def test_a_trec_run_is_ordered_by_score_then_by_descending_id(tmp_path: Path) -> None:
    path = write(tmp_path, "q Q0 a 1 1.0 t\nq Q0 c 2 2.0 t\nq Q0 b 3 1.0 t\n")
    assert read_run_file(path).systems == {"t": {"q": ("c", "b", "a")}}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("q Q0 a 1 1.0\n", ":1: not a line of a TREC run"),
        ("q Q0 a 1 nan t\n", ":1: the score nan is not a finite number"),
        ("q Q0 a 1 1 t\nq Q0 a 2 2 t\n", "query q: an id stands there twice"),
        ('{"query_id": "q"}\n', ":1: not a ranking"),
        ('{"query_id": "q", "ranking": "a"}\n', ":1: `ranking` is not a list of ids"),
        ('{"query_id": "q", "ranking": []}\n' * 2, ":2: query q has a ranking already"),
    ],
)
def test_what_is_no_run_is_refused_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(AssayError, match=problem):
        read_run_file(write(tmp_path, text))


def test_rankings_must_be_of_the_collection(tmp_path: Path) -> None:
    collection = load("harbourline")
    query, document = collection.queries[0].id, collection.documents[0].id
    for text, problem in (
        ("nobody Q0 a 1 1 t\n", "none of its queries is one of harbourline"),
        (f"{query} Q0 nowhere.md 1 1 t\n", "nowhere.md is neither a passage nor a document"),
    ):
        with pytest.raises(AssayError, match=problem):
            Replay(read_run_file(write(tmp_path, text)), "t", collection)
    known = Replay(
        read_run_file(write(tmp_path, f"{query} Q0 {document} 1 1 t\n")), "t", collection
    )
    hit = known.search(collection.queries[0].text, 10).hits[0]
    assert (hit.chunk.id, hit.chunk.text) == (document, collection.documents[0].text)
    assert not known.search(collection.queries[1].text, 10).hits
