"""The tables of targets: wording, the README's, and what is stored of them."""

import json
from dataclasses import replace

import pytest
from pydantic import TypeAdapter
from tools.processes import ROOT

from assay.eval.report.renderers import markdown, page
from assay.eval.runs.json_form import to_json
from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.targets.limits import Limits
from assay.eval.studies.targets.results import Line, MeasuredValue, Results, TargetResult
from assay.eval.studies.targets.settings import load_settings
from assay.eval.studies.targets.study import report

ENVIRONMENT = {
    "git": {"commit": "a" * 40, "dirty": True}, "python": "3.11", "cores": 2, "processor": "CPU",
}  # fmt: skip
LEVELS = Limits(at_most=500, alert=600, page=1000)
README = ROOT / "README.md"
STORED = ROOT / "docs" / "targets.json"


def measured(unit, value, low, high):
    return MeasuredValue(
        Estimate(value, low, high, 248), unit, "2026-11-22T00:00:00+00:00", ("run-1",)
    )


@pytest.fixture
def results():
    gain = measured("change", 0.113, 0.056, 0.174)
    gain = Line("MRR", "relative change of MRR@10", "≥ +20 %", gain, "missed")
    beside = measured("change", 0.2, 0.1, 0.3)
    beside = Line("Hit@1", "relative change of Hit@1", "", beside, None)
    later = Line("", "", "context ≤ 4,500 tokens", None, "not measurable yet", "no | stage")
    targets = (
        TargetResult("SC-003", "hybrid over semantic", "20 %", (gain, beside), "Few ask."),
        TargetResult("V3-budget", "context budget", "context ≤ 4,500 tokens", (later,)),
    )
    return Results("2026-11-22T01:00:00+00:00", ENVIRONMENT, targets)


@pytest.mark.parametrize(
    ("unit", "limits", "text"),
    [
        ("score", Limits(at_least=0.99), "≥ 0.99"),
        ("change", Limits(at_least=0.2), "≥ +20 %"),
        ("change", Limits(at_most=-0.35), "≤ -35 %"),
        ("share", Limits(at_least=0.1, at_most=0.4), "≥ 10 % and ≤ 40 %"),
        ("ms", Limits(less_than=2000), "< 2,000 ms"),
        ("count", Limits(at_most=0), "≤ 0"),
        ("score", Limits(), ""),
        ("score", Limits(at_least=1, page=0.5), "≥ 1, page < 0.5"),
        ("ms", LEVELS, "≤ 500 ms, alert > 600 ms, page > 1,000 ms"),
    ],
)
def test_limits_in_words(unit, limits, text):
    assert limits.describe_limits(unit) == text


def test_a_level_stands_behind_the_verdict(results):
    wanted = LEVELS.describe_limits("ms")
    slow = Line("", "p95", wanted, measured("ms", 700, 650, 720), "missed", level="alert")
    timed = replace(results, targets=(TargetResult("V3-p95", "time", "≤ 500 ms", (slow,)),))
    assert list_rows(timed)[0][-1] == "missed, alert"
    assert "| 248 | ms | missed, alert |" in render_markdown(timed)
    assert read(to_json(timed)) == timed


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (measured("ratio", 1.107, 1.047, 1.131), "1.107 (1.047 – 1.131)"),
        (measured("difference", -0.012, -0.014, -0.009), "−0.012 (−0.014 … −0.009)"),
        (measured("s", 1.96, 1.96, 1.96), "1.96 s"),
        (measured("count", 4500.0, 4500.0, 4500.0), "4,500"),
    ],
)
def test_values_in_words(found, text):
    line = Line("", "", "", found, "met")
    one = Results("2026-11-22", ENVIRONMENT, (TargetResult("X", "x", "x", (line,)),))
    assert list_rows(one)[0][3] == text


def list_rows(results):
    """Return the rows of the table of targets as people read them."""
    table = report(results).tables["targets"]
    cells = [[column.print(row) for column in table.columns] for row in table.rows]
    return [tuple(f"{i} ({j})" if j else i for i, j in row) for row in cells]


def render_markdown(results):
    return markdown.render(report(results))


def test_the_table(results):
    change = "+11.3\u00a0% (+5.6 … +17.4)"
    beside = "+20.0\u00a0% (+10.0 … +30.0)"
    budget = "context ≤ 4,500 tokens"
    assert list_rows(results) == [
        ("SC-003", "hybrid over semantic: MRR", "≥ +20 %", change, "248", "change", "missed"),
        ("SC-003", "Hit@1", "", beside, "248", "change", ""),
        ("V3-budget", "context budget", budget, "–", "–", "", "not measurable yet"),
    ]
    told = report(results)
    assert told.verdict == ["1 missed: SC-003", "1 not measurable yet: V3-budget"]
    assert f"commit {'a' * 40}, with uncommitted changes" in markdown.render(told)
    assert "## Why" not in render_markdown(replace(results, targets=results.targets[1:]))


def test_links_of_remarks_lead_where_they_did_and_run_nothing(results):
    remark = "See [one](a.md#b), [two](https://c.org/d) and [no](javascript:alert)."
    told = report(replace(results, targets=(replace(results.targets[0], remark=remark),)))
    text, html = markdown.render(told), page.render(told)
    assert "| See one, two and \\[no\\](javascript:alert). | [one](a.md#b) |" in text
    assert "| [two](https://c.org/d) |" in text
    assert 'href="a.md#b"' in html
    assert 'href="javascript' not in html


def test_the_stored_results_are_of_the_targets_there_are():
    """`assay targets --output docs` mends this."""
    settings = load_settings(ROOT / "configs" / "targets.yaml")
    stored = json.loads(STORED.read_text())["targets"]
    keys = ("id", "criterion", "as_written", "remark")
    wanted = [
        (id_, item.criterion, item.as_written, item.remark)
        for id_, item in settings.targets.items()
    ]
    assert [tuple(item[key] for key in keys) for item in stored] == wanted


def read(values):
    return TypeAdapter(Results).validate_python(values)


def test_the_page_in_the_docs_is_made_of_its_facts_and_the_readme_has_their_totals():
    """`assay targets --output docs` mends the first."""
    stored = read(json.loads(STORED.read_text()))
    text = render_markdown(stored)
    assert STORED.with_suffix(".md").read_text() == text
    # What was measured alike on several collections stands once.
    assert r"| V3-ids | chunk ids given twice, combine\_split on dccode\_t42, tarnwick |" in text
    totals = ", ".join(f"{len(ids)} {verdict}" for verdict, ids in stored.count().items() if ids)
    assert f"{totals} ([each of them](docs/targets.md), as of {stored.created[:10]})" in (
        README.read_text()
    )
