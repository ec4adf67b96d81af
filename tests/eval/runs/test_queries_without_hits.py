"""A run that returns nothing for queries says so wherever its figures are shown."""

from dataclasses import replace

import pytest
from samples.report import make_run

from assay.eval.cli.run import print_summary
from assay.eval.report.run_page import page as report
from assay.eval.runs.json_form import to_json
from assay.eval.runs.stored import describe_without_hits
from assay.eval.runs.summary.summary import summarise
from assay.eval.studies.comparison.analysis import compare
from assay.eval.studies.run.frame import RunResult
from assay.eval.tracking.record import describe

SAID = "nothing is returned for 3 of 8 queries"


@pytest.fixture
def silent(tmp_path):
    """A run that returns nothing for two queries more, and q3, for which nothing is relevant."""
    run = make_run(tmp_path)
    assert len(run.without_hits) == 1
    none = {id_: replace(run.rankings[id_], hits=(), trace=()) for id_ in ("q1", "q2", "q3")}
    irrelevant = tuple(replace(item, grade=0) for item in run.gold["q3"])
    gold = {**run.gold, "q3": irrelevant}
    return replace(run, rankings={**run.rankings, **none}, gold=gold)


def test_it_is_told_of_queries_that_have_an_answer(silent):
    assert {"q1", "q2"} < set(silent.without_hits)
    assert "q3" not in silent.without_hits
    assert describe_without_hits(silent) == SAID
    assert describe_without_hits(silent.take({"q3"})) == ""


def test_it_is_told_at_the_head_of_everything(silent, capsys):
    summary = summarise(silent)
    print_summary(summary)
    assert f"Check first: {SAID}\n" in capsys.readouterr().out
    page = report.write(summary)
    for text in (page.read_text(), page.with_name("report.md").read_text()):
        assert SAID in text.replace("Nothing", "nothing")
    assert to_json(summary)["queries_without_hits"] == 3
    assert describe(summary).tags["assay.queries_without_hits"] == "3"
    assert RunResult(silent).report.warnings[0] == SAID
    named = silent.manifest.model_copy(update={"id": "other", "name": "other"})
    other = replace(silent, manifest=named)
    assert f"two_legs, other: {SAID}" in compare([silent, other], ["nDCG@10"]).warnings
