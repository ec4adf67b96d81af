"""Tables on a terminal of 80 columns and in a pipe: figures stand whole."""

import re

import pytest
from samples.planned_runs import make_run
from tools.processes import ROOT

from assay.eval.cli.report import print_comparison
from assay.eval.cli.run import print_summary
from assay.eval.runs.summary.summary import summarise
from assay.eval.studies.comparison.analysis import compare

CUT = re.compile(r"[\d.]…|…[\d.]")  # a figure, not the dots between the ends of an interval
INTERVAL = re.compile(r"[+−]?\d\.\d{3} … [+−]?\d\.\d{3}")
RANKS = [1, 2, 4, 0, 1, 5, 2, 1, 0, 2] * 4


@pytest.fixture(params=["80", ""], ids=["terminal", "pipe"])
def columns(request, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COLUMNS", raising=False)
    if request.param:
        monkeypatch.setenv("COLUMNS", request.param)
    return str(request.param)


def test_a_comparison(columns, tmp_path, capsys):
    runs = [make_run(tmp_path, name, ranks) for name, ranks in (("a", RANKS), ("b", RANKS[::-1]))]
    compared = compare(runs)
    print_comparison(compared, full=True)
    shown = capsys.readouterr().out
    assert not CUT.search(shown)
    assert all(len(line) <= 80 for line in shown.splitlines()) == (columns == "80")
    assert len(INTERVAL.findall(shown)) == len(compared.pairs[0].shown)
    for item in compared.pairs[0].shown:
        assert f"{item.base:.3f}" in shown
        assert item.verdict in shown


@pytest.mark.usefixtures("columns")
def test_a_run(tmp_path, capsys):
    summary = summarise(make_run(tmp_path, "a", RANKS), ["nDCG@10", "MRR@10", "Recall@2000tok"])
    print_summary(summary)
    shown = capsys.readouterr().out
    assert not CUT.search(shown)
    for mean in summary.means.values():
        assert f"{mean.low:.3f} – {mean.high:.3f}" in shown
