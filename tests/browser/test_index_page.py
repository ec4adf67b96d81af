"""The index of stored runs in a real browser: it sorts and filters without a network."""

from pathlib import Path
from typing import Any

import pytest
from tools.browser import check_contrast, overflow

from assay.eval.studies.run.index import write_index
from assay.eval.studies.run.run_list import RunRow

HOSTILE = "<img src=x onerror=window.hacked=1>"


def make_row(number: int, mean: float, config: str) -> RunRow:
    name = f"run-{number}"
    return RunRow(
        id=name,
        folder=Path(name),
        config=config,
        collection="planned",
        created=f"2026-03-0{number}T10:00:00+00:00",
        queries=10,
        sampled=False,
        degraded=number == 3,
        commit=str(number) * 40,
        means={"nDCG@10": mean, "Recall@10": 1 - mean},
        p50=9.5 + number,
        page=Path(name, "report.html"),
        bytes=100,
    )


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    rows = [make_row(3, 0.5, "mine"), make_row(2, 0.9, HOSTILE), make_row(1, 0.2, "mine")]
    return write_index(rows, tmp_path_factory.mktemp("reports")).as_uri()


def made(page: Any) -> list[str]:
    rows = page.locator("#run-table tbody tr:visible")
    return [rows.nth(i).get_attribute("data-id") for i in range(rows.count())]


def test_it_sorts_and_filters(page: Any) -> None:
    assert made(page) == ["run-3", "run-2", "run-1"]
    page.get_by_role("button", name="nDCG@10").click()
    assert made(page) == ["run-2", "run-3", "run-1"]
    page.get_by_role("button", name="nDCG@10").click()
    assert made(page) == ["run-1", "run-3", "run-2"]
    page.get_by_role("searchbox").fill("mine")
    assert made(page) == ["run-1", "run-3"]
    assert page.locator("#shown").text_content() == "2 of 3 runs"
    page.get_by_role("button", name="Clear").click()
    page.get_by_text("3 of 3 runs").wait_for()


def test_the_trend_stands_within_the_page(page: Any) -> None:
    plot = page.get_by_role("img", name="nDCG@10 of mine on planned, 2 commits")
    assert plot.locator("circle").count() == 2
    assert plot.locator("a").first.get_attribute("href") == "run-1/report.html"
    page.set_viewport_size({"width": 375, "height": 812})
    assert overflow(page) <= 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(browser: Any, address: str, scheme: str) -> None:
    check_contrast(browser, address, scheme)
