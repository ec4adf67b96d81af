"""The report page in a real browser, from a file, without a network."""

import pytest
from samples.report import DOCUMENTS, HOSTILE, QUERIES, make_run
from tools.browser import DESKTOP, PHONE, check_contrast, overflow

from assay.eval.report.run_page.page import write
from assay.eval.runs.summary.summary import summarise

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    return write(summarise(make_run(tmp_path_factory.mktemp("reports")))).as_uri()


def shown(page):
    """Return the ids of the rows the table shows."""
    return page.eval_on_selector_all(
        "#query-table tbody tr:not([hidden])", "rows => rows.map(row => row.dataset.id)"
    )


def sort_by(page, name):
    page.get_by_role("button", name=name, exact=True).click()
    return shown(page)


def test_a_header_sorts_by_its_column_and_says_so(page):
    assert shown(page) == list(QUERIES)
    ascending = sort_by(page, "nDCG@10")
    assert ascending[0] == "q7"
    header = page.locator("th", has=page.get_by_role("button", name="nDCG@10", exact=True))
    assert header.get_attribute("aria-sort") == "ascending"
    values = page.eval_on_selector_all(
        "#query-table tbody tr", "rows => rows.map(row => Number(row.cells[2].dataset.value))"
    )
    assert values == sorted(values)
    sort_by(page, "nDCG@10")
    assert header.get_attribute("aria-sort") == "descending"
    assert shown(page)[-1] == "q7"
    by_text = sort_by(page, "Query")
    texts = [QUERIES[id_][0] for id_ in by_text]
    assert texts == sorted(texts, key=str.lower)
    assert header.get_attribute("aria-sort") == "none"


def test_filters_narrow_the_table_and_clear(page):
    page.get_by_label("Text or id").fill("LIGHTHOUSE")
    assert shown(page) == ["q2"]
    assert page.locator("#shown").text_content() == "1 of 8 queries"
    page.get_by_role("button", name="Clear").click()
    page.locator("#shown", has_text="8 queries").wait_for()
    page.locator("#filters").get_by_label("Type").select_option("moon")
    assert shown(page) == ["q1", "q4", "q6"]
    page.locator("#filters").get_by_label("Type").select_option("")
    page.get_by_label("First relevant at rank").select_option("none")
    assert "q7" in shown(page)
    assert "q1" not in shown(page)


def test_a_query_opens_by_keyboard_and_gives_the_focus_back(page):
    link = page.locator('#query-table a[data-query="q2"]')
    link.focus()
    page.keyboard.press("Enter")
    panel = page.get_by_role("dialog")
    assert panel.get_by_role("heading", level=2).text_content() == QUERIES["q2"][0]
    assert panel.locator(".passages mark").first.text_content() == "turns once in ten seconds"
    assert page.url.endswith("#query=q2")
    page.keyboard.press("ArrowRight")
    assert panel.get_by_role("heading", level=2).text_content() == QUERIES["q3"][0]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Escape")
    assert not panel.is_visible()
    assert page.evaluate("document.activeElement.dataset.query") == "q2"


def test_the_arrows_walk_what_the_table_shows(page):
    page.locator("#filters").get_by_label("Type").select_option("moon")
    page.locator('#query-table a[data-query="q1"]').click()
    assert page.locator("#place").text_content() == "1 of 3"
    assert page.get_by_role("button", name="Previous query").is_disabled()
    page.get_by_role("button", name="Next query").click()
    assert (
        page.get_by_role("dialog").get_by_role("heading", level=2).text_content()
        == (QUERIES["q4"][0])
    )


def test_the_trace_and_the_gold_of_a_query_are_told(page):
    page.locator('#query-table a[data-query="q4"]').click()
    panel = page.get_by_role("dialog")
    assert panel.locator(".golds > li").count() == 2
    assert "grade 3" in panel.locator(".golds > li").first.text_content()
    stages = panel.get_by_role("table").locator("tbody tr")
    assert stages.locator("th").all_text_contents() == ["words", "letters", "fusion"]
    assert "fused" in stages.last.text_content()
    assert "words rank 1" in panel.locator(".passages > li").first.text_content()


def test_where_the_answers_went_is_drawn_and_told(page):
    bars = page.get_by_role("region", name="Where correct passages were lost").locator(".bar")
    widths = bars.evaluate_all("all => all.map(at => at.getBoundingClientRect().width)")
    assert widths
    assert all(width > 0 for width in widths)
    page.locator('#query-table a[data-query="q7"]').click()
    gold = page.get_by_role("dialog").locator(".golds > li").first
    assert gold.locator(".badge.warn").text_content() == "not returned"
    assert gold.locator(".trail").text_content() == "words – · letters – · fusion – · final –"
    page.evaluate("id => openQuery(id)", "q1")
    gold = page.get_by_role("dialog").locator(".golds > li").first
    assert "found at rank 1" in gold.text_content()
    assert gold.locator(".trail").text_content().endswith("fusion 1 · final 1")


def test_an_address_opens_its_query_whatever_its_id(page, address):
    link = page.locator('#query-table a[data-query="q/8 + &"]').first.get_attribute("href")
    panel = page.get_by_role("dialog")
    for place in (link, "#query=%E0%A4%A"):
        page.goto(address + place)
        page.reload()
        title = panel.get_by_role("heading", level=2).text_content()
        assert title == "spring" if place == link else "No details" in panel.text_content()


def test_a_degraded_query_says_so_and_markup_is_shown_as_text(page):
    assert "letters: index down <b>" in page.get_by_role("note").text_content()
    page.locator('#query-table a[data-query="q6"]').click()
    panel = page.get_by_role("dialog")
    assert "index down <b>" in panel.locator(".warning").text_content()
    page.evaluate("id => openQuery(id)", "q3")
    assert HOSTILE in panel.get_by_role("heading", level=2).text_content()
    evil = next(text for id_, text in DOCUMENTS.items() if id_.startswith("evil"))
    for text in (evil.split("\n\n")[0], f"evil{HOSTILE}.md"):
        assert text in panel.text_content()
    assert (page.locator("img").count(), page.locator("script").count()) == (0, 2)


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP])
def test_the_page_never_scrolls_sideways(page, viewport):
    page.set_viewport_size(viewport)
    assert overflow(page) <= 0
    for id_ in QUERIES:
        page.evaluate("id => openQuery(id)", id_)
        assert overflow(page) <= 0
        panel = page.locator("#panel")
        assert panel.evaluate("panel => panel.scrollWidth - panel.clientWidth") <= 0


def test_everything_to_press_can_be_reached_by_tab(page):
    reached = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.textContent.trim()"))
    assert {"Skip to the content", "Measures", "nDCG@10", "Clear", QUERIES["q1"][0]} <= reached


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(browser, address, scheme):
    check_contrast(browser, address, scheme)


def test_it_prints(page, tmp_path):
    path = tmp_path / "report.pdf"
    page.pdf(path=path)
    assert path.read_bytes().startswith(b"%PDF")
