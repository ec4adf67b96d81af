"""The tables of targets: wording, the README's, and what is stored of them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tools.processes import ROOT

from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.targets.output import (
    BEGIN,
    END,
    describe_limits,
    describe_seconds,
    format_measured,
    make_rows,
    metrics,
    read_totals,
    render_markdown,
    render_table,
    render_totals,
    replace_totals,
    write,
)  # fmt: skip
from assay.eval.studies.targets.results import Line, MeasuredValue, Results, TargetResult, Unit
from assay.eval.studies.targets.target_settings import load_settings
from assay.eval.studies.targets.verdict import Levels, Limits
from assay.retrievers.base import AssayError

ENVIRONMENT = {
    "git": {"commit": "a" * 40, "dirty": True}, "python": "3.11", "cores": 2, "processor": "CPU",
}  # fmt: skip
README = ROOT / "README.md"
STORED = ROOT / "docs" / "targets.json"


def measured(unit: Unit, value: float, low: float, high: float) -> MeasuredValue:
    return MeasuredValue(
        Estimate(value, low, high, 248), unit, "2026-11-22T00:00:00+00:00", ("run-1",)
    )


@pytest.fixture
def results() -> Results:
    gain = Line(
        "MRR",
        "relative change of MRR@10",
        "≥ +20 %",
        measured("change", 0.113, 0.056, 0.174),
        "missed",
    )
    beside = Line("Hit@1", "relative change of Hit@1", "", measured("change", 0.2, 0.1, 0.3), None)
    later = Line("", "", "context ≤ 4,500 tokens", None, "not measurable yet", "no | stage")
    return Results(
        "2026-11-22T01:00:00+00:00",
        ENVIRONMENT,
        (
            TargetResult("SC-003", "hybrid over semantic", "20 %", (gain, beside), "Few ask."),
            TargetResult("V3-budget", "context budget", "context ≤ 4,500 tokens", (later,)),
        ),
    )


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
    ],
)
def test_limits_in_words(unit: Unit, limits: Limits, text: str) -> None:
    assert describe_limits(limits, unit) == text


def test_levels_stand_behind_the_limit_and_the_verdict(results: Results) -> None:
    wanted = describe_limits(Limits(at_most=500), "ms", Levels(600, 1000))
    assert wanted == "≤ 500 ms, alert > 600 ms, page > 1,000 ms"
    assert describe_limits(Limits(at_least=1), "score", Levels(page=0.5, rising=False)) == (
        "≥ 1, page < 0.5"
    )
    slow = Line("", "p95", wanted, measured("ms", 700, 650, 720), "missed", level="alert")
    timed = replace(results, targets=(TargetResult("V3-p95", "time", "≤ 500 ms", (slow,)),))
    assert "| 248 | **missed**, alert |" in render_table(timed)
    assert make_rows(timed.targets[0])[0][-1] == "missed, alert"
    assert Results.from_json(timed.as_json()) == timed


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (measured("change", 0.113, 0.056, 0.174), "+11.3 % (+5.6 … +17.4)"),
        (measured("score", 0.95, 0.9, 0.98), "0.950 (0.900 … 0.980)"),
        (measured("ms", 12.345, 10, 15), "12.3 ms (10.0 … 15.0)"),
        (measured("count", 0, 0, 0), "0"),
        (None, "–"),
    ],
)
def test_values_in_words(found: MeasuredValue | None, text: str) -> None:
    assert format_measured(found) == text


def test_the_table(results: Results) -> None:
    table = render_table(results).splitlines()
    assert table[4:7] == [
        "| SC-003 | hybrid over semantic: MRR | ≥ +20 % | +11.3 % (+5.6 … +17.4) | 248 "
        "| **missed** |",
        "|  | Hit@1 |  | +20.0 % (+10.0 … +30.0) | 248 |  |",
        "| V3-budget | context budget | context ≤ 4,500 tokens | – |  "
        r"| not measurable yet: no \| stage |",
    ]
    text = "\n".join(table)
    assert "1 missed: SC-003. 1 not measurable yet: V3-budget." in text
    assert "2026-11-22 at commit aaaaaaaaaaaa, with changes not committed" in text
    page = render_markdown(results)
    assert "relative change of MRR@10" in page
    assert "## Why\n\n- SC-003: Few ask.\n\n## What" in page
    assert "## Why" not in render_markdown(replace(results, targets=results.targets[1:]))


def test_the_page_in_the_docs_is_made_of_its_facts() -> None:
    docs = ROOT / "docs"
    results = Results.from_json(json.loads((docs / "targets.json").read_text()))
    text = render_markdown(results)
    assert (docs / "targets.md").read_text() == text
    # What was measured alike on several collections stands once.
    assert "- V3-ids: chunk ids given twice, combine_split on dccode_t42, tarnwick\n" in text


def test_the_seconds_are_stored_and_told(results: Results) -> None:
    timed = replace(results, seconds={"run of bm25 on scifact": 100.0, "ingestion": 20.0})
    assert Results.from_json(timed.as_json()) == timed
    assert describe_seconds(timed.seconds) == (
        "2.0 minutes in all; the longest: run of bm25 on scifact 100 s, ingestion 20.0 s."
    )


def test_results_are_stored_and_read_again(results: Results, tmp_path: Path) -> None:
    markdown, stored = write(results, tmp_path / "new")
    assert Results.from_json(json.loads(stored.read_text())) == results
    assert markdown.read_text() == render_markdown(results)
    assert not list(tmp_path.rglob(".*"))


def test_metrics_of_mlflow(results: Results) -> None:
    found = dict(metrics(results))
    assert found["target/SC-003 MRR"] == 0.113
    assert found["target/SC-003 Hit_at_1.high"] == 0.3
    assert (found["targets/missed"], found["targets/met"]) == (1, 0)


def test_only_the_totals_of_a_readme_are_replaced(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    once = replace_totals(readme, "| new |\n")
    assert once == f"before\n{BEGIN}\n| new |\n{END}\nafter\n"
    readme.write_text(once)
    assert replace_totals(readme, "| new |\n") == once


@pytest.mark.parametrize("text", ["none", f"{END}\n{BEGIN}", f"{BEGIN}", f"{BEGIN}{END}{BEGIN}"])
def test_a_readme_without_the_marks_is_refused(text: str, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(text)
    with pytest.raises(AssayError, match=r"README\.md: needs one line"):
        replace_totals(readme, "")


def test_the_readme_shows_the_stored_results() -> None:
    """`assay targets --readme README.md --output docs` mends this."""
    stored = Results.from_json(json.loads(STORED.read_text()))
    assert read_totals(README) == render_totals(stored)
    assert STORED.with_suffix(".md").read_text() == render_markdown(stored)


def test_the_stored_results_are_of_the_targets_there_are() -> None:
    """`assay targets --readme README.md --output docs` mends this."""
    settings = load_settings(ROOT / "configs" / "targets.yaml")
    stored = json.loads(STORED.read_text())["targets"]
    keys = ("id", "criterion", "as_written", "remark")
    wanted = [
        (id_, item.criterion, item.as_written, item.remark)
        for id_, item in settings.targets.items()
    ]
    assert [tuple(item[key] for key in keys) for item in stored] == wanted
