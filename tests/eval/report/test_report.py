import base64
import hashlib
import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from samples.report import DOCUMENTS, HOSTILE, QUERIES, drop_types, make_run
from tools.elements import Elements

from assay.eval.collections.collection import GoldItem
from assay.eval.report import markdown
from assay.eval.report.formats import amount, interval, score, size
from assay.eval.report.plots import LogAxis
from assay.eval.report.run_page.excerpts import list_pieces
from assay.eval.report.run_page.page import list_queries, write
from assay.eval.report.run_page.queries import query_rows, slowest, worst
from assay.eval.report.run_page.report import report
from assay.eval.runs.summary.summary import summarise
from assay.retrievers.base import Chunk

POSITIVE = st.floats(0.001, 1e6)


@pytest.fixture(scope="module")
def told(summary):
    return report(summary)


@pytest.fixture(scope="module")
def page(summary):
    return write(summary).read_text(encoding="utf-8")


def read_details(page):
    data = json.loads(Elements(page).scripts[0])
    return data | {"queries": {query["id"]: query for query in data["queries"]}}


# The files


def test_the_page_asks_for_nothing_and_its_policy_fits_its_script_and_style(page):
    tags = Elements(page).tags
    assert not {"link", "img", "iframe", "object"} & {tag for tag, _ in tags}
    assert all("src" not in attributes for _, attributes in tags)
    assert all((attributes.get("href") or "#").startswith("#") for _, attributes in tags)
    policy = next(item["content"] for _, item in tags if item.get("http-equiv"))
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}';" in policy


def test_texts_of_others_are_never_markup(page):
    elements = Elements(page)
    assert len(elements.scripts) == 2
    assert not [tag for tag, _ in elements.tags if tag == "img"]
    assert not [name for _, attributes in elements.tags for name in attributes if name[:2] == "on"]
    assert any(HOSTILE in text for text in elements.text)
    assert HOSTILE not in page
    assert HOSTILE in json.dumps(read_details(page)["queries"]["q3"]["text"])


def test_the_figures_shown_are_those_of_the_summary(summary, page):
    text = " ".join(" ".join(Elements(page).text).split())
    for mean in summary.means.values():
        assert f"{score(mean.value)}" in text
        assert f"{score(mean.low)} – {score(mean.high)}" in text
    for figures in summary.latency.values():
        for estimate in figures.values():
            assert interval(estimate, amount) in text
    assert text.count("5 queries are too few to bound p50, p95 and p99 from above") == 1


# What is told of a run


def test_the_tables_are_of_the_queries_of_the_run(told, summary):
    silent, degraded, *_ = told.warnings
    assert silent == "nothing is returned for 1 of 8 queries"
    assert "letters: index down <b>" in degraded
    assert not any("sample" in line for line in told.warnings)
    counted = read(told.tables["found_at"], "queries")
    assert list(counted) == ["1", "2–3", "4–5", "6–10", "11–20", "21–100", "none"]
    assert sum(counted.values()) == len(QUERIES)
    assert counted["none"] == sum(row.found_at is None for row in query_rows(summary))
    rows = worst(query_rows(summary))
    assert tuple(told.tables["worst"].rows) == rows
    scores = [row.score for row in rows]
    assert scores == sorted(scores)
    assert max(scores) < 1
    assert rows[0].id == "q7"
    assert rows[0].found_at is None


def test_a_run_without_latency_or_types_has_a_report(tmp_path):
    run = drop_types(make_run(tmp_path, timed=0))
    path = write(summarise(run, ["P@5"]))
    page = path.read_text(encoding="utf-8")
    assert "Latency was not measured" in page
    assert "ms, by stage" not in page
    assert "By type" not in path.with_suffix(".md").read_text(encoding="utf-8")


def read(table, key):
    """Return the cells of a column by the names of the rows."""
    column = table.find_column(key)
    return {table.columns[0].read(row): column.read(row) for row in table.rows}


# Drill-downs


def test_a_drill_down_marks_the_gold_and_says_where_it_was_found(page, summary):
    # Offsets are in code points; two emoji stand before this gold.
    hit = read_details(page)["queries"]["q2"]["hits"][0]
    assert hit["pieces"][1] == "turns once in ten seconds"
    assert "".join(hit["pieces"]) == DOCUMENTS["lamps.md"].split("\n\n")[0]
    assert hit["grades"] == [1]
    details = read_details(page)
    hit = details["queries"]["q5"]["hits"][0]
    assert hit["pieces"][1] == "the anode is replaced"
    assert hit["pieces"][0].startswith("… ")
    assert sum(map(len, hit["pieces"])) < 710
    shelved = details["passages"][hit["passage"]]["text"]
    assert shelved.endswith(" …")
    assert len(shelved) < 710
    queries = read_details(page)["queries"]
    for id_, joined in summary.run.joined.items():
        for item in queries[id_]["gold"]:
            ranks = [
                rank
                for rank, hit in enumerate(joined, start=1)
                if any(item["place"] == f"characters {i.start:,} – {i.end:,}" for i in hit.found)
                and item["document"] == hit.chunk.doc_id
            ]
            assert item["rank"] == (ranks[0] if ranks else None)
    assert queries["q7"]["gold"][0]["rank"] is None
    assert queries["q7"]["hits"] == []
    assert queries["q4"]["gold"][0]["grade"] == 3
    query = read_details(page)["queries"]["q1"]
    trace = summary.run.rankings["q1"].trace
    assert [stage["name"] for stage in query["stages"]] == ["words", "letters", "fusion"]
    for stage, entry in zip(query["stages"], trace, strict=True):
        ids = [id_ for id_, _ in entry.candidates]
        assert stage["gold"] == [ids.index("tides.md#0") + 1]
        assert stage["candidates"] == len(ids)


def test_a_large_collection_keeps_the_worst_and_the_slowest(summary, monkeypatch):
    monkeypatch.setattr("assay.eval.report.run_page.drilldown.MOST_QUERIES", 6)
    kept = {query["id"] for query in json.loads(list_queries(summary)["data"])["queries"]}
    rows = query_rows(summary)
    assert len(kept) == 6
    assert {row.id for row in [*worst(rows), *slowest(rows)]} <= kept


def test_the_table_of_many_queries_has_the_worst_and_the_slowest(summary, monkeypatch):
    every = query_rows(summary)
    monkeypatch.setattr("assay.eval.report.run_page.queries.SHOWN", 1)
    monkeypatch.setattr("assay.eval.report.run_page.queries.MOST_ROWS", 5)
    rows = list_queries(summary)["queries"]
    shown = [row.id for row in rows]
    assert shown == [row.id for row in every if row.id in shown]
    assert len(shown) == 5
    notable = {row.id for row in [*worst(every), *slowest(every)]}
    assert notable <= set(shown)
    highest = max(row.score for row in rows if row.id not in notable)
    assert all(row.score >= highest for row in every if row.id not in shown)
    assert "5 of 8: those of lowest" in write(summary).read_text(encoding="utf-8")


@given(
    st.text("ab🔦\n", min_size=1, max_size=60),
    st.lists(st.tuples(st.integers(-20, 80), st.integers(1, 40)), min_size=1, max_size=4),
    st.integers(5, 80),
)
def test_pieces_are_the_passage_with_its_gold_at_odd_places(text, spans, limit):
    chunk = Chunk("c", "d", 100, 100 + len(text), text)
    gold = [GoldItem("q", f"{i}", "d", 100 + i, 100 + i + size_, 1) for i, size_ in spans]
    pieces = list_pieces(chunk, gold, limit)
    assert len(pieces) % 2 == 1
    if limit < len(text):
        return
    assert "".join(pieces).strip("\n") == text.strip("\n")
    covered = {i for item in gold for i in range(item.start - 100, item.end - 100)}
    marked = sum(len(piece) for piece in pieces[1::2])
    assert marked == len(covered & set(range(len(text))))


# Markdown


def cells(markdown_text):
    tokens = MarkdownIt("gfm-like", {"linkify": False}).enable("table").parse(markdown_text)
    return [
        "".join(child.content for child in token.children or [])
        for token in tokens
        if token.type == "inline"
    ]


@given(
    st.text(
        st.characters(exclude_categories=["Cs", "Cc", "Z"]) | st.sampled_from(" |`*_<>[]\\@"),
        max_size=40,
    )
)
@example("ask @anna, nDCG@10")
def test_any_text_is_itself_in_a_markdown_cell(text):
    table = f"| a | b |\n|---|---|\n| {markdown.plain(text)} | end |\n"
    rendered = MarkdownIt("commonmark").enable("table").render(table)
    shown = re.sub("(^|[^A-Za-z0-9_])@(?=[A-Za-z0-9])", "\\1@\u200b", " ".join(text.split()))
    assert cells(table) == ["a", "b", shown, "end"], "nobody is called by it"
    assert not re.search(r"<(?!/?(table|thead|tbody|tr|th|td)>)", rendered)


@given(st.text("`~ab\n", max_size=40))
def test_a_fence_holds_any_text(text):
    tokens = MarkdownIt("commonmark").parse(markdown.fenced(text, "yaml"))
    assert [token.type for token in tokens] == ["fence"]
    assert tokens[0].content.rstrip() == text.rstrip()


def test_the_markdown_report_holds_measures_latency_and_queries(summary):
    text = write(summary).with_suffix(".md").read_text(encoding="utf-8")
    found = cells(text)
    assert {*summary.means, "Worst queries", "Slowest queries", "How it was measured"} <= {*found}
    assert QUERIES["q7"][0] in found
    rendered = MarkdownIt("commonmark").enable("table").render(text)
    assert "<script" not in rendered
    assert "<img" not in rendered
    assert "](#" not in text, "places of the page are none here"


# Numbers and axes


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0042, "0.004"), (0.5, "0.500"), (3.14159, "3.14"), (31.4159, "31.4"), (3141.59, "3,142")],
)
def test_durations_have_about_three_digits(value, shown):
    assert amount(value) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "–"), (1, "1 B"), (999, "999 B"), (12_345, "12.3 kB"), (2_500_000_000, "2.50 GB")],
)
def test_sizes_are_decimal(count, shown):
    assert size(count) == shown


@given(st.lists(POSITIVE, min_size=1, max_size=20))
def test_a_log_axis_holds_its_values_in_order(values):
    axis = LogAxis.around(values)
    places = [axis.place(value) for value in sorted(values)]
    assert places == sorted(places)
    assert axis.low <= min(values) * 1.001
    assert axis.high >= max(values) * 0.999
    assert 3 <= len(axis.ticks) <= 12
