"""Attribution in the report of a run: the figures shown are those computed, and add up."""

import json
import re
from dataclasses import replace

import pytest
from samples.report import HOSTILE, QUERIES, make_run
from tools.processes import ROOT

from assay.eval.collections.collection import GoldItem
from assay.eval.report.run_page.attribution import view_attribution
from assay.eval.report.run_page.page import write
from assay.eval.runs.summary.attribution import STATUSES, Attribution, ItemStatus
from assay.eval.runs.summary.exports import export
from assay.eval.runs.summary.summary import summarise
from assay.eval.statistics.estimates import Estimate

ONE = Estimate(1.0, 1.0, 1.0, 1)
GOLD = GoldItem("q", "d", "d", 0, 10, 1)


def planted(counts):
    """Return the view of a run with so many items of each status, all of one query."""
    where = {
        "demoted": "rerank",
        "filtered": f"dedup{HOSTILE}",
        "not retrieved": "dense at rank 120",
    }
    items = tuple(
        ItemStatus(
            GOLD, status, where.get(status, ""), {"final": None}, {"dense": 120, "keyword": 300}
        )
        for status, number in counts.items()
        for _ in range(number)
    )
    shown = view_attribution(
        Attribution(10, ("final",), {"q": items}, (), {"Recall@10": ONE}, {"q": "t"})
    )
    assert shown is not None
    return shown


def test_segments_fill_the_bar_in_the_order_of_statuses():
    counts = {status: i for i, status in enumerate(STATUSES)}
    shown = planted(dict(reversed(counts.items())))
    assert [row.segment.status for row in shown.rows] == [
        status for status in STATUSES if counts[status]
    ]
    edge = 0.0
    for row in shown.rows:
        assert row.segment.start == pytest.approx(edge, abs=0.002)
        assert row.segment.width == pytest.approx(100 * row.segment.items / shown.items, abs=0.002)
        edge += row.segment.width
    assert edge == pytest.approx(100, abs=0.01)
    assert len({row.segment.style for row in shown.rows}) == len(shown.rows)
    causes = {row.segment.status: row.causes for row in shown.rows}
    assert causes["demoted"] == f"rerank {counts['demoted']}"
    assert causes["not retrieved"] == f"dense {counts['not retrieved']}"


def test_every_status_has_a_colour():
    text = (ROOT / "eval/report/templates/report.css").read_text()
    for row in planted(dict.fromkeys(STATUSES, 1)).rows:
        assert f".{row.segment.style} {{ fill: var(--{row.segment.style}); }}" in text
        assert f"--{row.segment.style}: " in text


def test_the_page_shows_totals_types_and_ceilings(summary):
    page = write(summary).read_text(encoding="utf-8")
    section = re.search(r'<section id="attribution".*?</section>', page, re.S)[0]
    totals = {status: n for status, n in summary.attribution.totals().items() if n}
    assert len(totals) > 1
    label = ", ".join(f"{status} {items}" for status, items in totals.items())
    assert f'role="img" aria-label="Correct passages by status: {label}"' in section
    for kind in {kind for _, kind, _ in QUERIES.values()}:
        assert f'<th scope="row">{kind}</th>' in section
    for step in ("words", "letters", "all legs together", "fusion", "final hits", "actual"):
        assert f'<th scope="row">{step}</th>' in section
    reached = summary.attribution.reached["nDCG@10"]
    assert reached == summary.means["nDCG@10"]
    assert f"{reached.value:.3f}" in section
    assert "style=" not in section, "the policy of the page lets no inline style through"


def test_the_markdown_report_has_it_too(summary):
    text = write(summary).with_suffix(".md").read_text(encoding="utf-8")
    found = summary.attribution.totals()["found"]
    assert f"| found | {found} |" in text
    assert "| all legs together |" in text


def test_names_of_others_stay_text(summary):
    hostile = {
        query: tuple(replace(item, status="demoted", where=HOSTILE) for item in items)
        for query, items in summary.attribution.items.items()
    }
    attribution = replace(summary.attribution, items=hostile)
    other = summarise(summary.run)
    other.__dict__["attribution"] = attribution
    page = write(other).read_text(encoding="utf-8")
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page


def test_a_run_of_nothing_relevant_has_no_section(tmp_path):
    run = make_run(tmp_path)
    gold = {id_: tuple(replace(item, grade=0) for item in items) for id_, items in run.gold.items()}
    run = replace(run, gold=gold)
    page = write(summarise(run)).read_text(encoding="utf-8")
    assert 'id="attribution"' not in page


def test_the_exported_file_holds_every_item(summary):
    export(summary)
    stored = json.loads((summary.run.folder / "attribution.json").read_text(encoding="utf-8"))
    assert stored["totals"] == dict(summary.attribution.totals())
    assert stored["queries"].keys() == summary.run.queries.keys()
    assert sum(map(len, stored["queries"].values())) == stored["items"]
    (item,) = stored["queries"]["q7"]
    assert (item["status"], item["grade"]) == ("not returned", 1)
