"""The pytest plug-in, by a user's own test session."""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as Xml
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from tools.processes import ASSAY, ROOT
from tools.project_files import declare_committed

from assay.eval.runs.stored import load
from assay.eval.studies.gate import baseline
from assay.eval.studies.gate.settings import GateSettings

PLUGIN = "assay.eval.pytest_plugin"
SEARCH = """
import pytest

DOCUMENTS = {
    "ferry": "The ferry to the islands sails twice a day in winter.",
    "refund": "A cancelled sailing is refunded within five working days.",
    "bikes": "Each passenger may take two suitcases and one \\x1b[31m bicycle.",
}
ASKED = {
    "documents": DOCUMENTS,
    "queries": {"q1": "ferry in winter", "q2": "is a bicycle free?", "q3": "refunded"},
    "judgments": {"q1": {"ferry": 1}, "q2": {"bikes": 1}, "q3": {"refund": 1}},
}

def first(query, k):
    return list(DOCUMENTS)[:1]

def words(query, k):
    asked = set(query.split())
    found = {name: len(asked & set(text.split())) for name, text in DOCUMENTS.items()}
    return sorted(found, key=lambda name: -found[name])[:1]
"""


@pytest.fixture
def session(tmp_path):
    """Write tests into a folder of their own and run them; return what pytest printed."""

    def run(text, *options):
        (tmp_path / "test_mine.py").write_text(SEARCH + text)
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
        command += load_plugin()
        environment = os.environ | {"ASSAY_REPORTS": str(tmp_path / "reports")}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )

    return run


def load_plugin():
    """Return the options that load the plug-in, where an older installation does not name it."""
    found = [one for one in entry_points(group="pytest11") if one.value == PLUGIN]
    return [] if found else ["-p", PLUGIN]


WRONG = {
    "retrieval('bm52', ASKED)": "bm52",
    "retrieval(words, 'nowhere')": "nowhere",
    "retrieval(words, ASKED).at_least('Hat@1', .5)": "measures: 'Hat@1'",
    "retrieval(words, ASKED).no_worse_than_baseline()": "assay baseline accept words-in-m",
}
TESTS = """
@pytest.mark.retrieval(collection=ASKED, measures=["Hit@1"])
@pytest.mark.parametrize("pipeline", [words, "bm25"])
def test_held(retrieval, pipeline):
    checked = retrieval(pipeline).at_least("Hit@1", .6).at_most("Empty", 0)
    assert checked.result.tables["measures"].loc["Hit@1", "n"] == 3

def test_missed(retrieval):
    retrieval(first, ASKED).at_least("Success@1", .9)

@pytest.mark.retrieval(colection=1)
def test_misnamed(retrieval):
    retrieval(words)

def test_of_something_else():
    pass
""" + "".join(f"\ndef test_wrong_{i}(retrieval):\n    {test}\n" for i, test in enumerate(WRONG))


def test_figures_pass_and_stand_in_junit_and_a_failure_says_what_was_lost(session, tmp_path):
    done = session(TESTS, "--strict-markers", "--junit-xml=found.xml", "-m", "retrieval")
    assert done.returncode == 1
    assert "5 failed, 2 passed, 1 deselected, 1 error" in done.stdout, done.stdout
    properties = Xml.parse(tmp_path / "found.xml").findall(".//property")
    found = {item.get("name"): float(item.get("value") or "") for item in properties}
    assert found["words Hit@1"] == pytest.approx(2 / 3)
    assert found["bm25 Hit@1"] == 1.0

    def read(name):
        """Return what stands under the heading of a failed test."""
        return done.stdout.partition(f" {name} ___")[2].partition("\n____")[0]

    missed = read("test_missed")
    for line in (
        "Hit@1 of first on in-memory is 0.333 (95 % interval ",
        "3 questions); it should be at least 0.9",
        "Hit@1 0.000  q2: is a bicycle free?",
        'wanted  bikes (not among 1 hit): "Each passenger may take two suitcases and one \ufffd[',
        'first   ferry (not judged): "The ferry to the islands',
        "/report.html",
    ):
        assert line in missed, done.stdout
    assert "\x1b[31m bicycle" not in missed
    assert "q1:" not in missed
    assert "assertions.py" not in missed  # the traceback ends in the user's own line
    page = re.search(r"report  (\S+)", missed)
    assert Path(page[1]).is_file()

    assert "colection: unknown; allowed: collection, measures, depth" in read("test_misnamed")
    for i, line in enumerate(WRONG.values()):
        assert line in read(f"test_wrong_{i}"), done.stdout
    assert "site-packages" not in done.stdout
    assert "running.py" not in done.stdout


@pytest.mark.slow
def test_two_workers_may_run_the_same_pipeline(session, tmp_path):
    done = session(
        """
@pytest.mark.parametrize("turn", range(4))
def test_it(retrieval, turn):
    retrieval("bm25", ASKED).at_least("Hit@1", 1)
""",
        "-n", "2",
    )  # fmt: skip
    assert "4 passed" in done.stdout, done.stdout
    assert 1 <= len(list((tmp_path / "reports").glob("bm25-*/manifest.json"))) <= 4


def test_a_session_that_does_not_use_it_imports_nothing(session):
    done = session(
        """
def test_it():
    import sys
    loaded = {name for name in sys.modules if name.startswith("assay")}
    assert loaded == {"assay", "assay.eval", "assay.eval.pytest_plugin"}
"""
    )
    assert "1 passed" in done.stdout, done.stdout


@pytest.mark.slow
def test_a_run_that_got_worse_than_its_baseline_fails(session, tmp_path):
    done = session("def test_it(retrieval):\n    retrieval('bm25', 'harbourline')\n")
    assert "1 passed" in done.stdout, done.stdout
    (manifest,) = (tmp_path / "reports").glob("*/manifest.json")
    declare_committed(manifest.parent)
    baseline.accept(load(manifest.parent), GateSettings().scored, tmp_path / "kept")
    done = session(
        """
@pytest.mark.retrieval(collection="harbourline", baselines="kept")
@pytest.mark.parametrize("pipeline", ["bm25", lambda query, k: []], ids=["same", "worse"])
def test_it(retrieval, pipeline):
    retrieval(pipeline, name="bm25").no_worse_than_baseline()
"""
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    for line in (
        "FAILED test_mine.py::test_it[worse] - AssertionError: Regression: nDCG@10 fel",
        "The questions that lost most:",
        "first   nothing was returned",
    ):
        assert line in done.stdout, done.stdout


@pytest.mark.slow
def test_init_writes_a_test_that_passes_once_a_run_is_accepted(tmp_path):
    shutil.copytree(ROOT / "examples/allotment", tmp_path / "docs")
    shutil.copy(ROOT / "examples/questions.csv", tmp_path)
    free = {"ASSAY_DATASET": "", "ASSAY_REPORTS": "", "MLFLOW_TRACKING_URI": "sqlite:///mlflow.db"}

    def call(*command):
        environment = os.environ | free
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )

    init = (ASSAY, "init", "docs", "--questions", "questions.csv", "--pytest")
    made = call(*init)
    assert "written:  tests/test_retrieval.py" in made.stdout, made.stderr
    again = call(*init)
    assert again.returncode == 2
    assert "tests/test_retrieval.py: is there already; --force overwrites it" in again.stderr
    tested = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *load_plugin())
    done = call(*tested)
    accept = re.search(r"`assay (baseline accept \S+-\S+)`", done.stdout)
    assert accept, done.stdout
    declare_committed(tmp_path / "reports")
    assert call(ASSAY, *accept[1].split()).returncode == 0
    assert "1 passed" in call(*tested).stdout
