"""Published figures as a user meets them: measured on a set worked out by hand."""

import json
import subprocess
from collections.abc import Callable

import pytest
from samples.published import UNEXPLAINED, read_facts, write_file, write_set

from assay.eval.report.renderers.markdown import render
from assay.eval.studies.reproduction.study import report

Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path):
    write_set(tmp_path / "fruit")
    return tmp_path / "fruit"


@pytest.fixture
def write(folder):
    return lambda **given: write_file(folder.with_name("published.yaml"), **given)


def read(done):
    return json.loads(done.stdout)


def test_each_figure_has_its_verdict_and_reason(assay, write):
    path = write()
    output = path.parent / "out"
    arguments = ("--file", str(path), "--output", str(output), "--json")
    done = assay("reproduce", "--system", "bm25", *arguments)
    assert done.returncode == 0, done.stderr
    found = read(done)
    rows = found["sets"][0]["rows"]
    assert [row["measured"] for row in rows[:4]] == pytest.approx([0.75] * 4)
    assert [row["verdict"] for row in rows] == ["OK", "close", "differs", "beside", "not run"]
    assert [row["difference"] for row in rows] == [0.0, -0.0051, 0.25, 0.25, None]
    explained = ["words are split otherwise"]
    assert [row["reasons"] for row in rows] == [[], explained, explained, ["of another model"], []]
    away = found["sets"][1]
    assert away["missing"].startswith("away: not here: nowhere: there is no such collection; ")
    assert away["missing"].endswith("assay reproduce away=FOLDER")
    assert done.stderr.splitlines().count(away["missing"]) == 1
    assert found["mlflow_run"]
    page = (output / "published.md").read_text()
    assert page == render(report(read_facts(json.loads((output / "published.json").read_text()))))
    assert "[0.7551](https://example.org/paper) | 0.7500 | −0.0051 | close |" in page
    assert "| Away | away: not here" in page
    assert "of 3 published figures measured again: 1 OK (within 0.005), 1 close" in page
    assert "words are split otherwise" in page
    assert "not among those chosen" in page


def test_a_difference_without_a_reason_is_the_exit_code(assay, write):
    done = assay("reproduce", "fruit", "--file", str(write(figures=UNEXPLAINED)), "--no-track")
    assert done.returncode == 1, done.stderr
    assert "differs" in done.stdout
    assert "1 figure differs, and the file knows no reason" in done.stdout


def test_a_querys_own_passage_counts_where_the_set_says_so(assay, write, folder):
    """Then the first query finds its passage second: (1/log2(3) + 1 + 1 + 0) / 4."""
    path = write(figures=UNEXPLAINED, drop="false")
    done = assay("reproduce", f"fruit={folder}", "--file", str(path), "--no-track", "--json")
    assert read(done)["sets"][0]["rows"][0]["measured"] == pytest.approx(0.6577, abs=5e-5)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fruits"], "there is no set of published figures fruits; there are: fruit, away"),
        (["fruit", "--system", "bm26"], "there is no system bm26; there are: bm25, other"),
        (["away"], "none of the sets is here, so that nothing was measured"),
    ],
)
def test_a_call_that_cannot_be_met_is_refused(assay, write, words, message):
    done = assay("reproduce", *words, "--file", str(write()), "--no-track")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith(f"assay: {message}")
