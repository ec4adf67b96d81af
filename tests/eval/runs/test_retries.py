"""Calls made again: counted in the manifest, shown where there were any, in no latency."""

import json
import time
from dataclasses import replace

import pytest
from samples.planned_runs import Planned, make_collection

from assay.eval.cli.run import print_summary
from assay.eval.report.run_page import page as report
from assay.eval.runs.execution.execution import RunSpec, execute
from assay.eval.runs.json_form import to_json
from assay.eval.runs.latency import LatencySettings
from assay.eval.runs.stored import load
from assay.eval.runs.summary.summary import summarise
from assay.eval.tracking.record import describe
from assay.retrievers.base import Quiet, StageTrace

WAITED = 30.0  # milliseconds


class Retrying(Planned):
    """Has to ask again at each search whose number `every` divides."""

    def __init__(self, every):
        super().__init__([1, 2, 3, 4])
        self._every, self._asked = every, 0

    def search(self, query, k):
        self._asked += 1
        again = self._every and self._asked % self._every == 0
        if again:
            time.sleep(WAITED / 1000)
        counts, waited = ({"retries": 1}, WAITED) if again else ({}, 0.0)
        entry = StageTrace("words", "leg", 0.1, counts=counts, waited=waited)
        return replace(super().search(query, k), trace=(entry,))


@pytest.fixture
def make(tmp_path):
    def run(every):
        plan = RunSpec("retrying", {}, 10, None, LatencySettings(queries=4, warm_up=0))
        return execute(plan, Retrying(every), make_collection(4), tmp_path, Quiet()).run

    return run


def test_searches_and_timed_ones_are_counted(make, monkeypatch):
    now = [0.0]  # a clock that only pauses move: a real one tells of the machine's load as well
    monkeypatch.setattr(time, "perf_counter", lambda: now[-1])
    monkeypatch.setattr(time, "sleep", lambda seconds: now.append(now[-1] + seconds))
    run = make(2)
    assert run.manifest.retries == 4
    assert to_json(summarise(run))["retries"] == 4
    waited = [entry.waited for ranking in run.rankings.values() for entry in ranking.trace]
    assert waited == [0.0, WAITED, 0.0, WAITED]
    assert max(sample.milliseconds["total"] for sample in run.latency) < WAITED / 1e6


@pytest.mark.parametrize("every", [0, 4])
def test_they_are_shown_where_there_were_any(every, make, capsys):
    summary = summarise(make(every))
    page = report.write(summary)
    print_summary(summary, full=True)
    shown = " ".join(capsys.readouterr().out.split())
    line = "2 calls that failed were made again; what that cost is in no latency"
    assert (line in shown) == bool(every)
    assert (line in page.read_text()) == bool(every)
    figures = {row[0]: row[1] for row in describe(summary).figures}
    assert figures.get("retries") == (2 if every else None)


def test_a_run_of_an_earlier_version_is_read(make):
    run = make(2)
    manifest = json.loads((run.folder / "manifest.json").read_text())
    del manifest["retries"]
    (run.folder / "manifest.json").write_text(json.dumps(manifest))
    rows = [json.loads(line) for line in (run.folder / "rankings.jsonl").read_text().splitlines()]
    for row in rows:
        row["trace"] = [entry[:6] for entry in row["trace"]]
    (run.folder / "rankings.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    read = load(run.folder)
    assert read.manifest.retries == 0
    assert {entry.waited for ranking in read.rankings.values() for entry in ranking.trace} == {0.0}
