"""The page of all reports in a real browser: it sorts and filters without a network."""

import json

import pytest
from samples.planned_runs import make_run
from tools.browser import check_contrast

from assay.eval.runs.manifest import MANIFEST
from assay.eval.runs.summary.exports import MEANS
from assay.eval.studies.run.overview import write_overview

pytestmark = pytest.mark.slow

HOSTILE = "<img src=x onerror=window.hacked=1>"


def store(reports, number, mean, config):
    """Store a run as one that has a report has its files; return its id."""
    run = make_run(reports, "planned", [1, 2, 0])
    manifest = json.loads((run.folder / MANIFEST).read_text())
    manifest |= {"name": config, "created": f"2026-03-0{number}T10:00:00+00:00", "load": None}
    manifest["environment"]["repository"] = str(number) * 40
    folder = run.folder.rename(reports / f"run-{number}")
    (folder / MANIFEST).write_text(json.dumps(manifest))
    ends = {"low": mean - 0.1, "high": mean + 0.1}
    measures = {"nDCG@10": {"mean": mean} | ends, "Recall@10": {"mean": 1 - mean} | ends}
    figures = {"queries": 3, "measures": measures, "p50_milliseconds": 9.5 + number}
    (folder / MEANS).write_text(json.dumps(figures))
    (folder / "report.html").write_text("page")
    return folder.name


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    reports = tmp_path_factory.mktemp("reports")
    ids = [
        store(reports, number, mean, config)
        for number, mean, config in ((3, 0.5, "mine"), (2, 0.9, HOSTILE), (1, 0.2, "mine"))
    ]
    found = {
        "verdict": [f"{HOSTILE} is better than `bm25`"],
        "base": {"run": ids[2], "label": HOSTILE},
        "others": [{"run": ids[0], "differences": [{"verdict": "better"}]}],
    }
    folder = reports / f"compare-{HOSTILE}"
    folder.mkdir()
    (folder / "report.html").write_text("page")
    (folder / "comparison.json").write_text(json.dumps(found))
    (reports / "tuned").mkdir()
    (reports / "tuned" / "javascript:x.html").write_text("page")
    (reports / "tuned" / "javascript:x.json").write_text(json.dumps({"verdict": HOSTILE}))
    return write_overview(reports).as_uri()


def made(page):
    rows = page.locator("#run-table tbody tr:visible")
    return [rows.nth(i).get_attribute("data-id") for i in range(rows.count())]


def test_it_sorts_and_filters(page):
    assert made(page) == ["run-3", "run-2", "run-1"]
    page.get_by_role("button", name="nDCG@10").click()
    assert made(page) == ["run-2", "run-3", "run-1"]
    page.get_by_role("button", name="nDCG@10").click()
    assert made(page) == ["run-1", "run-3", "run-2"]
    page.get_by_role("searchbox").fill("mine")
    assert made(page) == ["run-1", "run-3"]
    assert page.locator("#shown").text_content() == "2 of 3 runs"
    page.get_by_role("searchbox").fill("better than")
    assert made(page) == ["run-3"]
    page.get_by_role("button", name="Clear").click()
    page.get_by_text("3 of 3 runs").wait_for()


def test_names_from_elsewhere_are_text_and_links_stay_in_the_folder(page):
    assert page.locator("img:not([role])").count() == 0
    assert page.locator("#run-table").get_by_text(HOSTILE, exact=True).count() == 1
    resolve = "links => links.map((link) => new URL(link.getAttribute('href'), location).href)"
    for place in page.locator("a").evaluate_all(resolve):
        assert place.startswith("file://"), place
    said = page.get_by_role("region", name="Runs").get_by_text(f"better than {HOSTILE}")
    assert said.get_attribute("href") == (
        "compare-%3Cimg%20src%3Dx%20onerror%3Dwindow.hacked%3D1%3E/report.html"
    )
    assert page.locator("li", has_text="javascript:x").text_content().startswith("tuned/javascript")


def test_a_phone_shows_what_a_run_was_and_what_was_found(page):
    page.set_viewport_size({"width": 390, "height": 800})
    first = page.locator("#run-table tbody tr").first
    assert "planned, 2026-03-03" in first.locator("td").first.inner_text()
    shown = [cell for cell in first.locator("td").all() if cell.is_visible()]
    assert [" ".join(cell.inner_text().split()) for cell in shown[1:3]] == [
        "0.500 0.400 – 0.600",
        "12.50",
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(browser, address, scheme):
    check_contrast(browser, address, scheme)
