"""What moves between two periods of traffic is found, and chance seldom is."""

import json
import re
import tracemalloc

import numpy as np
import pytest
from click.testing import CliRunner
from doubles.spans import Emitter, emit_search, list_spans

from assay.eval.cli.main import assay
from assay.eval.studies.traces.drift import Period, Queries, Search, find_shifts
from assay.retrievers.base import AssayError

WORDS = ("ferry", "dogs", "bikes", "times", "price", "deck", "winter", "harbour")


def make(rng, known, sessions, each, nothing=0.1):
    """Searches of sessions, each of which asks the same again and again."""
    made = Period(known)
    for i in range(sessions):
        words = tuple(rng.choice(WORDS, 3, replace=False))
        found = 0 if rng.random() < nothing else 10
        for _ in range(each):
            score = float(rng.normal()) if found else np.nan
            made.add(Search(" ".join(words), f"s{i}", found, "s", score, rng.exponential()))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("each", [1, 5])
def test_where_nothing_moved_little_is_found(each):
    rng = np.random.default_rng(7)
    alarms = 0
    for _ in range(60):
        known = Queries()
        shifts = find_shifts(make(rng, known, 40, each), make(rng, known, 60, each))
        alarms += shifts[0].moved
    assert alarms <= 8  # of 3 expected; more in .7 % of such trials


def test_what_moved_comes_first():
    rng = np.random.default_rng(3)
    known = Queries()
    base, now = make(rng, known, 200, 1), make(rng, known, 200, 1, nothing=0.35)
    first, second, *_ = find_shifts(base, now)
    assert (first.what, first.unit, first.moved) == ("found nothing", "share", True)
    assert first.base == pytest.approx(np.mean([not found for found in base.found]))
    assert first.now == pytest.approx(np.mean([not found for found in now.found]))
    assert second.what == "documents returned"


def measure_peak(searches):
    """Return the most bytes of Python's that comparing so many searches without words takes."""
    known = Queries()
    base, now = Period(known), Period(known)
    tracemalloc.start()
    try:
        for i in range(searches):
            (base if i % 2 else now).add(Search("??", "", i % 9, "s", i / 7, i / 3))
        assert not any("the word" in shift.what for shift in find_shifts(base, now))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_search_costs_few_bytes():
    measure_peak(100)  # what is imported stays
    few, many = measure_peak(1_000), measure_peak(11_000)
    assert (many - few) / 10_000 < 700


def write_spans(path, queries):
    emitter = Emitter()
    for query in queries:
        emit_search(query, [{"id": "a", "text": "The ferry sails.", "score": 0.5}], emitter)
    batch = emitter.otlp_json()
    for span in list_spans(batch):  # each search in a session of its own
        span["attributes"] = [i for i in span["attributes"] if i["key"] != "session.id"]
    path.write_text(json.dumps(batch))
    return str(path)


def test_the_command_names_words_and_what_to_judge_next(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))
    old = ["when does the ferry sail", "are dogs allowed on deck"] * 25
    base = write_spans(tmp_path / "base.json", old)
    now = write_spans(tmp_path / "now.json", [*old[:20], *["<b>wheelchair</b> ramp"] * 30])
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("The ferry sails.\n\nDogs travel on deck.\n")
    (tmp_path / "q.csv").write_text(
        "question,quote\nwhen does the ferry sail,The ferry sails.\n"
        "are dogs allowed on deck,Dogs travel on deck.\n"
    )
    made = ["init", str(docs), "--questions", str(tmp_path / "q.csv")]
    dataset = str(tmp_path / "judged")
    assert CliRunner().invoke(assay, [*made, "--output", dataset]).exit_code == 0
    call = ["traces", "drift", base, now, "--dataset", dataset]

    printed = CliRunner().invoke(assay, call)
    assert printed.exit_code == 0, printed.output
    assert "the word wheelchair" in printed.output
    assert re.search(r"<b>wheelchair</b> ramp +30\n", printed.output)
    assert not (tmp_path / "reports").exists()  # without consent no text is kept

    told = CliRunner().invoke(assay, [*call, "--consent", "--json"])
    found = json.loads(told.stdout)
    assert found["judged"]["next"] == [{"query": "<b>wheelchair</b> ramp", "searches": 30}]
    assert found["judged"]["far"] == pytest.approx(0.6)
    [page] = (tmp_path / "reports").glob("drift-*/report.html")
    assert "&lt;b&gt;wheelchair" in page.read_text()
    assert json.loads(page.with_name("drift.json").read_text())["judged"] == found["judged"]


def test_bad_periods_are_told(tmp_path):
    path = write_spans(tmp_path / "few.json", ["ferry"] * 3)
    for arguments, message in (
        ([path], "1 source without --at"),
        ([path, path], "has 3 searches; at least 30"),
        ([path, "--at", "2020-01-01"], "before 2020-01-01T00:00:00: has 0 searches"),
    ):
        failed = CliRunner().invoke(assay, ["traces", "drift", *arguments])
        assert isinstance(failed.exception, AssayError)
        assert message in str(failed.exception)
