"""Miss analysis in the report of a run: the figures shown are those computed, and add up."""

import json
from dataclasses import replace

import pytest
from samples.report import HOSTILE, QUERIES
from tools.processes import ROOT

from assay.eval.report.run_page.attribution import stack
from assay.eval.report.run_page.page import write
from assay.eval.report.run_page.report import report
from assay.eval.runs.summary.attribution import STATUSES
from assay.eval.runs.summary.exports import export
from assay.eval.runs.summary.summary import summarise


def test_segments_fill_the_bar_in_the_order_of_statuses_each_in_its_colour():
    counts = {status: i for i, status in enumerate(STATUSES)}
    segments = stack(counts)
    assert [segment.status for segment in segments] == list(STATUSES)
    edge = 0.0
    for segment in segments:
        assert segment.start == pytest.approx(edge, abs=0.002)
        width = 100 * segment.items / sum(counts.values())
        assert segment.width == pytest.approx(width, abs=0.002)
        edge += segment.width
    assert edge == pytest.approx(100, abs=0.01)
    assert len({segment.style for segment in segments}) == len(segments)
    text = (ROOT / "eval/report/templates/report.css").read_text()
    for segment in stack(dict.fromkeys(STATUSES, 1)):
        assert f".{segment.style} {{ fill: var(--{segment.style}); }}" in text
        assert f"--{segment.style}: " in text


def test_the_tables_have_totals_types_and_ceilings_and_the_file_every_item(summary):
    tables = report(summary).tables
    totals = {status: n for status, n in summary.attribution.totals().items() if n}
    assert len(totals) > 1
    assert dict(tables["statuses"].rows) == totals
    shares = tables["statuses"].find_column("share")
    assert sum(map(shares.read, tables["statuses"].rows)) == pytest.approx(1)
    assert {kind for kind, _ in tables["types"].rows} == {kind for _, kind, _ in QUERIES.values()}
    steps = [step for step, _, _ in tables["ceilings"].rows]
    assert steps == ["words", "letters", "all legs together", "fusion", "final hits", "actual"]
    reached = tables["ceilings"].find_column("nDCG@10").read(tables["ceilings"].rows[-1])
    assert reached == summary.means["nDCG@10"]
    export(summary)
    stored = json.loads((summary.run.folder / "attribution.json").read_text(encoding="utf-8"))
    assert stored["totals"] == dict(summary.attribution.totals())
    assert stored["queries"].keys() == summary.run.queries.keys()
    assert sum(map(len, stored["queries"].values())) == stored["items"]
    (item,) = stored["queries"]["q7"]
    assert (item["status"], item["grade"]) == ("not returned", 1)


def test_names_of_others_stay_text(summary):
    hostile = {
        query: tuple(replace(item, status="demoted", where=HOSTILE) for item in items)
        for query, items in summary.attribution.items.items()
    }
    other = summarise(summary.run)
    other.__dict__["attribution"] = replace(summary.attribution, items=hostile)
    page = write(other).read_text(encoding="utf-8")
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page
    assert "style=" not in page, "the policy of the page lets no inline style through"
