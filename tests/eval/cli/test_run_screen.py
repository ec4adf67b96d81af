"""The screen of `assay run`: what was found first, one table, and last what to check."""

import re
from dataclasses import replace
from zipfile import ZipFile

import pytest

from assay.eval.cli.run import print_summary
from assay.eval.report.formats import amount
from assay.eval.report.run_page.tables import FIRST
from assay.eval.runs.stored import load
from assay.eval.runs.summary.summary import summarise
from assay.eval.shipped import DEMO


@pytest.fixture(scope="module")
def summary(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    with ZipFile(DEMO) as archive:
        archive.extractall(folder)
    return summarise(load(folder / "hybrid"))


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("terminal")
def test_a_terminal_holds_it(summary, capsys):
    print_summary(summary)
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert lines[0].startswith("hybrid: 60\u00a0% of questions get a right passage first, ")
    assert any(line.startswith("nDCG@10 is 0.635, likely between ") for line in lines)
    assert len(lines) <= 24 - 4, "report, MLflow and the next commands follow"
    assert max(map(len, lines)) <= 80
    shown_first = [name for name in FIRST if name in summary.means]
    for name in shown_first:
        mean = summary.means[name]
        assert f"{mean.value:.3f} ({mean.low:.3f} – {mean.high:.3f})" in shown
    assert f"the first {len(shown_first)} of {len(summary.means)}; --full shows all" in lines
    assert "Check first: The leg dense alone " in shown
    assert "vocabulary_mismatch" not in shown
    assert not re.search("simultaneous|family|power|condensed", shown), "words of statistics"


@pytest.mark.usefixtures("terminal")
def test_all_types_and_steps_are_shown_where_asked_for(summary, capsys):
    print_summary(summary, full=True)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    for kind, means in summary.by_type.items():
        assert f"{kind} n {means['nDCG@10'].n} · nDCG@10 {means['nDCG@10'].value:.3f} (" in text
    for step, times in summary.latency.items():
        assert any(
            line.startswith(f"{step} ") and f" {amount(times['p50'].value)} (" in line
            for line in lines
        )
    assert text.count("language model, not by") == 1
    assert "That may be chance; `assay tune` fits the fusion" in text


def test_what_failed_comes_with_what_to_do(summary, capsys):
    manifest = summary.run.manifest.model_copy(update={"degraded": {"rerank: no answer": 4}})
    print_summary(replace(summary, run=replace(summary.run, manifest=manifest)))
    told = "degraded on 4 of 60 queries: rerank: no answer. Run again once that is fixed\n"
    assert f"Check first: {told}" in capsys.readouterr().out
