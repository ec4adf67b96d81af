"""The page of a comparison in a real browser, from a file, without a network."""

import pytest
from samples.report import HOSTILE, QUERIES, drop_types, make_run
from tools.browser import DESKTOP, PHONE, check_contrast, overflow

from assay.eval.studies.comparison.analysis import compare
from assay.eval.studies.comparison.page import write

pytestmark = pytest.mark.slow

LEGS = {
    "initials": ("initials",),
    "endings": ("endings",),
    "fused": ("words", "letters"),
}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    reports = tmp_path_factory.mktemp("reports")
    runs = [make_run(reports, name=name, legs=legs) for name, legs in LEGS.items()]
    return write(compare(runs), reports).as_uri()


def shown(page):
    """Return the ids of the rows the table shows."""
    return page.eval_on_selector_all(
        "#query-table tbody tr", "rows => rows.map(row => row.dataset.id)"
    )


def differences(page):
    cells = page.locator("#query-table tbody td:last-child").all_text_contents()
    return [float(text.replace("−", "-")) for text in cells]


def pick(page, name):
    page.locator("#picker").get_by_text(name, exact=True).click()


def open_query(page, id_):
    page.locator(f'#query-table a[data-query="{id_}"]').click()
    return page.get_by_role("dialog")


def test_the_picker_changes_what_stands_beside_the_base(page):
    measures = page.locator("#measures h3:visible")
    assert measures.text_content() == "endings against initials"
    assert "endings upwards" in page.locator("#scatter-title").text_content()
    before = differences(page)
    pick(page, "fused")
    assert measures.text_content() == "fused against initials"
    assert "fused upwards" in page.locator("#scatter-title").text_content()
    assert page.locator("#other-name").text_content() == "fused"
    assert differences(page) != before
    assert page.locator("[data-pair]:visible").count() == 3
    page.locator("#picker input").last.focus()
    page.keyboard.press("ArrowLeft")
    assert measures.text_content() == "endings against initials"


def test_queries_stand_by_the_size_of_their_change_and_sort_by_any_column(page):
    sizes = [abs(value) for value in differences(page)]
    assert sizes == sorted(sizes, reverse=True)
    header = page.locator('th[data-key="difference"]')
    assert header.get_attribute("aria-sort") == "other"
    header.get_by_role("button").click()
    assert differences(page) == sorted(differences(page), reverse=True)
    header.get_by_role("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    assert differences(page) == sorted(differences(page))
    page.locator('th[data-key="text"] button').click()
    texts = [QUERIES[id_][0] for id_ in shown(page)]
    assert texts == sorted(texts, key=str.lower)
    assert header.get_attribute("aria-sort") == "none"


def test_filters_narrow_the_list_and_clear(page):
    filters = page.locator("#filters")
    filters.get_by_label("Text or id").fill("LIGHTHOUSE")
    assert shown(page) == ["q2"]
    assert "1 of 8 queries" in page.locator("#shown").text_content()
    filters.get_by_role("button", name="Clear").click()
    page.locator("#query-table tbody tr").nth(7).wait_for()
    filters.get_by_label("Type").select_option("moon")
    assert set(shown(page)) == {"q1", "q4", "q6"}
    filters.get_by_label("Type").select_option("")
    for outcome, ids in (("won", {"q1", "q4", "q6", "q7", "q/8 + &"}), ("lost", {"q2"})):
        filters.get_by_label("Outcome").select_option(label=outcome)
        assert set(shown(page)) == ids
    filters.get_by_label("Outcome").select_option(label="tied")
    assert set(differences(page)) == {0}


def test_the_grid_shows_first_hits_with_their_worth_in_words(page):
    pick(page, "fused")
    rows = page.locator("#grid-table tbody tr")
    assert rows.count() == 8
    assert page.locator("#grid-table thead th").all_text_contents() == ["Question", *LEGS]
    worths = page.locator("#grid-table .worth").all_text_contents()
    assert len(worths) == 8 * len(LEGS)
    assert set(worths) <= {"✓ right", "✗ wrong", "✗ not judged", "– nothing found"}
    hostile = page.locator("#grid-table tbody tr", has=page.locator('a[data-query="q3"]'))
    assert HOSTILE in hostile.text_content()
    assert page.locator("#grid-table script, #grid-table img").count() == 0
    page.locator('#grid-table a[data-query="q5"]').click()
    panel = page.get_by_role("dialog")
    assert panel.get_by_role("heading", level=2).text_content() == QUERIES["q5"][0]


def test_the_grid_is_filtered_by_who_was_right(page):
    pick(page, "fused")
    chosen = page.locator("#grid-filters").get_by_label("Questions")
    rows = page.locator("#grid-table tbody tr")
    numbers = {}
    for value, base, other in (
        ("won", False, True),
        ("lost", True, False),
        ("missed", False, False),
        ("right", True, True),
    ):
        chosen.select_option(value)
        numbers[value] = rows.count()
        for i in range(rows.count()):
            cells = rows.nth(i).locator("td")
            right = [cells.nth(run).locator(".worth").text_content() for run in (0, 2)]
            assert [worth == "✓ right" for worth in right] == [base, other]
        option = chosen.locator(f"option[value={value}]").text_content()
        assert option.endswith(f"({rows.count()})")
    assert sum(numbers.values()) == 8
    assert numbers["won"] > 0
    page.locator("#grid-filters").get_by_role("button", name="Clear").click()
    rows.nth(7).wait_for()
    page.locator("#grid-filters").get_by_label("Text or id").fill("LIGHTHOUSE")
    assert rows.count() == 1


def test_another_measure_moves_the_dots_and_the_list(page):
    before = differences(page), page.locator("#scatter circle").count()
    page.locator("#filters").get_by_label("Measure").select_option(label="Hit@1")
    assert "Hit@1" in page.locator("#scatter-title").text_content()
    assert set(differences(page)) <= {-1, 0, 1}
    assert (differences(page), page.locator("#scatter circle").count()) != before


def test_a_dot_of_several_queries_lists_them_and_lets_them_go(page):
    page.locator("#filters").get_by_label("Measure").select_option(label="Hit@1")
    dots = page.locator("#scatter circle")
    numbers = dots.evaluate_all(
        "all => all.map(dot => /: (\\d+) queries/.exec(dot.ariaLabel)?.[1])"
    )
    i, number = next((i, int(number)) for i, number in enumerate(numbers) if number)
    dots.nth(i).click()
    assert len(shown(page)) == number
    assert f"{number} queries from" in page.locator("#chosen").text_content()
    page.get_by_role("button", name="Show all").click()
    assert len(shown(page)) == 8
    assert page.locator("#chosen").is_hidden()


def test_dots_are_walked_by_arrows_and_opened_by_enter(page):
    assert page.locator('#scatter circle[tabindex="0"]').count() == 1
    page.locator('#scatter circle[tabindex="0"]').focus()
    texts = []
    for _ in range(page.locator("#scatter circle").count()):
        texts.append(page.locator("#told").text_content())
        page.keyboard.press("ArrowRight")
    assert len(set(texts)) == page.locator("#scatter circle").count()
    page.locator('#scatter circle:not([aria-label*=" queries"])').first.focus()
    page.keyboard.press("Enter")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    assert not page.get_by_role("dialog").is_visible()


def test_a_query_shows_both_rankings_with_gold_and_ranks_in_the_other(page):
    panel = open_query(page, "q5")
    assert panel.get_by_role("heading", level=2).text_content() == QUERIES["q5"][0]
    assert page.url.endswith("#query=q5&other=0")
    names = panel.get_by_role("heading", level=4).all_text_contents()
    assert names == ["initials", "endings"] * 2
    rankings = panel.locator(".passages")
    assert rankings.count() == 2
    for i, other in ((0, "endings"), (1, "initials")):
        first = rankings.nth(i).locator("li").first
        assert first.locator("mark").text_content() == "the anode is replaced"
        assert f"rank 1 in {other}" in first.text_content()
    statuses = panel.locator(".status").first
    assert statuses.locator("dt").all_text_contents() == ["initials", "endings"]
    assert statuses.locator("dd").all_text_contents() == ["found at rank 1"] * 2
    assert panel.get_by_role("region", name="Trace of the stages").count() == 2
    scores = panel.get_by_role("region", name="Scores").locator("tbody tr")
    assert scores.count() == 6
    assert "nDCG@10" in scores.first.text_content()


def test_the_panel_changes_the_other_and_walks_by_arrows(page):
    panel = open_query(page, "q2")
    page.locator("#panel-other").select_option(label="fused")
    assert panel.get_by_role("heading", level=4).nth(1).text_content() == "fused"
    assert page.url.endswith("#query=q2&other=1")
    ids = shown(page)
    i = ids.index("q2")
    page.locator("#panel-title").focus()
    page.keyboard.press("ArrowRight" if i + 1 < len(ids) else "ArrowLeft")
    moved = ids[i + 1] if i + 1 < len(ids) else ids[i - 1]
    assert panel.get_by_role("heading", level=2).text_content() == QUERIES[moved][0]


def test_a_cell_of_the_flow_lists_its_queries(page):
    cell = page.locator('#gold button[data-move="found → found"]:visible')
    items = int(cell.text_content())
    cell.press("Enter")
    assert 0 < len(shown(page)) <= items
    assert "found → found" in page.locator("#chosen").text_content()
    assert page.evaluate("document.activeElement.textContent") == "Show all"
    page.keyboard.press("Enter")
    assert len(shown(page)) == 8
    assert page.evaluate("document.activeElement.name") == "text"


def test_an_address_opens_its_query_with_markup_as_text(page, address):
    panel = page.get_by_role("dialog")
    for query, title in (("q%2F8%20%2B%20%26", "spring"), ("q3", QUERIES["q3"][0])):
        page.goto(f"{address}#query={query}&other=1")
        page.reload()
        assert panel.get_by_role("heading", level=2).text_content() == title
        assert panel.get_by_role("heading", level=4).nth(1).text_content() == "fused"
    assert f"evil{HOSTILE}.md" in panel.text_content()
    assert (page.locator("img").count(), page.locator("script").count()) == (0, 2)
    page.goto(f"{address}#query=%E0%A4%A&other=9")
    page.reload()
    assert "No details" in panel.text_content()


def test_degradation_is_said_above_and_beside_the_query(page):
    warning = page.get_by_role("note")
    assert "index down <b>" in warning.first.text_content()
    assert "nothing is returned for 1 of 8 queries" in " ".join(warning.all_text_contents())
    told = open_query(page, "q6").locator(".warning").text_content()
    assert "initials is degraded: letters: index down <b>" in told


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP])
def test_the_page_never_scrolls_sideways(page, viewport):
    page.set_viewport_size(viewport)
    assert overflow(page) <= 0
    for summary in page.locator("summary:visible").all():
        summary.click()
    assert overflow(page) <= 0
    for id_ in QUERIES:
        page.evaluate("id => openQuery(id)", id_)
        assert overflow(page) <= 0
        panel = page.locator("#panel")
        assert panel.evaluate("panel => panel.scrollWidth - panel.clientWidth") <= 0


def test_rankings_stand_side_by_side_and_on_a_phone_one_below_the_other(page):
    panel = open_query(page, "q2")
    left, right = (panel.locator(".passages").nth(i).bounding_box() for i in (0, 1))
    assert left["x"] + left["width"] <= right["x"]
    page.set_viewport_size(PHONE)
    above, below = (panel.locator(".passages").nth(i).bounding_box() for i in (0, 1))
    assert above["y"] + above["height"] <= below["y"]
    assert above["x"] == below["x"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(browser, address, scheme):
    check_contrast(browser, address, scheme)


def test_without_scripts_all_figures_are_there(browser, address):
    context = browser.new_context(viewport=DESKTOP, java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.locator("#measures h3:visible").all_text_contents() == [
        "endings against initials",
        "fused against initials",
    ]
    context.close()


def test_one_pair_needs_no_picker(browser, tmp_path):
    runs = [
        drop_types(make_run(tmp_path, name=name, legs=LEGS[name], timed=0))
        for name in ("initials", "fused")
    ]
    context = browser.new_context(viewport=PHONE)
    page = context.new_page()
    said = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(write(compare(runs), tmp_path).as_uri())
    assert page.locator("#picker").count() == 0
    assert "Not measured in both runs" in page.locator("#latency").text_content()
    panel = open_query(page, "q1")
    assert page.url.endswith("#query=q1")
    assert "same" not in panel.text_content()
    assert overflow(page) <= 0
    context.close()
    assert said == []
