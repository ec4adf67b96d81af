"""Blocks: every face shows the same cells, and no text of others is anything but text in them."""

import html
import json
import re
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tools.elements import Elements

from assay.eval.cli.report_screen import print_report
from assay.eval.report.blocks import (
    Column,
    Facts,
    Plot,
    Prose,
    Report,
    Scatter,
    Table,
    find_drawn,
    print_cell,
)
from assay.eval.report.renderers import markdown, page
from assay.eval.report.renderers.frames import list_metrics, tabulate
from assay.eval.report.result import StudyResult
from assay.eval.report.scatter import draw_scatter
from assay.eval.runs.json_form import in_json
from assay.eval.statistics.estimates import Estimate, OpenEstimate
from assay.retrievers.base import AssayError

HOSTILE = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["<script>alert(1)</script>", "</td><img src=x onerror=y>", "a | b\n# c",
         "[x](javascript:y)", "`code`", "[red]no markup[/]", "$x$",
         "\x1b[31m", "{{ 7 * 7 }}", "&lt;b&gt;"]
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    name: str
    score: float
    gain: OpenEstimate | None
    n: int


COLUMNS = (
    Column("name", "Pipeline"),
    Column("score", "nDCG@10", "score"),
    Column("gain", "Gain", "difference", tone=lambda row: "better" if row.n else ""),
    Column("n", "Queries", "count", brief=False),
)
ROWS = (
    Row("bm25", 0.5, Estimate(0.1, 0.05, 0.2, 9), 9),
    Row("dense", 0.25, OpenEstimate(-0.2, None, 0.1, 1_000), 1_000),
    Row("none", 0.0, None, 0),
)


def make_report(text="words", rows=ROWS):
    table = Table("systems", text, COLUMNS, rows, note=text, plot=Plot("gain", band=lambda _: 0.05))
    return Report(
        id="id", kind="trial", title=text, verdict=[text], subject=[text], warnings=[text],
        blocks=[table, Facts(text, [(text, text)]), Prose(text, text)],
        environment={"command": ["assay", text]},
    )  # fmt: skip


def read_elements(text):
    """Return the names of the elements of a page, and those of their attributes."""
    tags = Elements(text).tags
    return [tag for tag, _ in tags], {name for _, attributes in tags for name in attributes}


PLAIN_TAGS, PLAIN_ATTRIBUTES = read_elements(page.render(make_report()))


@given(HOSTILE)
def test_texts_of_others_are_text_in_a_page(text):
    tags, attributes = read_elements(page.render(make_report(text, (Row(text, 1, None, 1),))))
    assert attributes <= PLAIN_ATTRIBUTES
    assert set(tags) - {"code"} <= set(PLAIN_TAGS)
    assert tags.count("script") == PLAIN_TAGS.count("script")


@given(HOSTILE)
def test_texts_of_others_are_text_in_markdown(text):
    made = markdown.render(make_report(text, (Row(text, 1, None, 1),)))
    tokens = MarkdownIt("commonmark").enable("table").parse(made)
    tables = [token for token in tokens if token.type == "table_open"]
    assert len(tables) == 3  # the table, the facts, and how it was made
    inner = {child.type for token in tokens for child in token.children or []}
    assert not inner & {"link_open", "image", "code_inline", "em_open"}
    assert not [token for token in tokens if token.type in ("html_block", "fence", "code_block")]
    raw = [i.content for token in tokens for i in token.children or [] if i.type == "html_inline"]
    assert set(raw) <= {"<code>", "</code>"}


def test_texts_of_others_are_text_on_a_terminal(capsys):
    print_report(make_report("[red]no markup[/]", (Row("[bold]x[/]", 1, None, 1),)), full=True)
    told = capsys.readouterr().out
    assert told.count("[red]no markup[/]") >= 6
    assert "[bold]x[/]" in told


@pytest.mark.parametrize("full", [False, True])
def test_a_terminal_shows_what_the_other_faces_have(full, capsys):
    print_report(make_report(), full)
    told = capsys.readouterr().out
    elsewhere = [markdown.render(make_report()), html.unescape(page.render(make_report()))]
    for row in ROWS:
        for column in COLUMNS:
            text, interval = column.print(row)
            assert (text in told) or not (column.brief or full)
            for other in elsewhere:
                assert text.replace("|", r"\|") in other
                assert interval in other


@given(st.lists(st.tuples(st.floats(-1, 1), st.integers(0, 9)), min_size=1, max_size=5))
def test_rows_and_columns_agree_in_all_faces(values):
    rows = tuple(Row(f"r{i}", one, None, n) for i, (one, n) in enumerate(values))
    report = make_report(rows=rows)
    frame = tabulate(report.tables["systems"])
    assert list(frame["score"]) == [row.score for row in rows]
    assert list_metrics(report) == {
        f"systems/{row.name}/{key}": value
        for row in rows
        for key, value in (("score", row.score), ("n", row.n))
    }
    lines = [line for line in markdown.render(report).splitlines() if line.startswith("| r")]
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines] == [row.name for row in rows]
    shown = re.findall(r'<th scope="row">(r\d)</th>', page.render(report))
    assert shown == [row.name for row in rows]


def test_cells_have_ends_units_and_drawn_values_of_their_own():
    report = make_report()
    frame = tabulate(report.tables["systems"])
    assert list(frame.columns) == ["score", "gain", "gain_low", "gain_high", "n"]
    assert frame.loc["bm25", "gain_high"] == 0.2
    assert frame["gain_low"].isna().tolist() == [False, True, True]
    metrics = list_metrics(report)
    assert metrics["systems/dense/gain"] == -0.2
    assert "systems/dense/gain_low" not in metrics
    table = Table("shares", "Shares", COLUMNS, ROWS, plot=Plot("gain", "share"))
    assert [find_drawn(table, row) for row in ROWS] == [ROWS[0].gain, None, None]
    column = Column("score", "Figure", lambda row: "seconds" if row.n else "share")
    assert column.numeric
    assert [column.print(row)[0] for row in ROWS] == ["0.500 s", "0.250 s", "0.0\u00a0%"]


@pytest.mark.parametrize(
    ("value", "format_", "told"),
    [
        (None, "score", ("–", "")),
        (None, "text", ("", "")),
        (True, "text", ("yes", "")),
        (-0.0004, "difference", ("0.000", "")),
        (0.5, "percent", ("50\u00a0%", "")),
        (1234, "count", ("1,234", "")),
        (-12.0, "change", ("−12", "")),
        (0.5, "precise", ("0.5000", "")),
        (-0.0004, "precise difference", ("−0.0004", "")),
        (Estimate(0.5, 0.25, 0.75, 3), "score", ("0.500", "0.250 – 0.750")),
        (OpenEstimate(0.5, 0.25, None, 3), "score", ("0.500", "≥ 0.250")),
        (Estimate(-0.258, -0.347, 0.169, 3), "relative", ("−25.8\u00a0%", "−34.7 … +16.9")),
        (Estimate(0.794, 0.75, 0.85, 3), "share", ("79.4\u00a0%", "75.0 – 85.0")),
        (12.34, "milliseconds", ("12.3 ms", "")),
        (0.26, "seconds", ("0.260 s", "")),
    ],
)
def test_a_cell_is_printed_by_its_column(value, format_, told):
    assert print_cell(value, format_) == told


def test_a_link_is_one_in_markdown_and_in_the_page():
    address = "https://example.org/a b_(c)?d=<e>|f#g"
    column = replace(COLUMNS[0], link=lambda _: address)
    table = Table("linked", "Linked", (column, COLUMNS[1]), ROWS[:1])
    made = replace(make_report(), blocks=[table])
    told = "[bm25](https://example.org/a%20b_%28c%29?d=%3Ce%3E%7Cf#g)"
    assert f"| {told} | 0.500 |" in markdown.render(made)
    assert f'<a href="{html.escape(address)}">bm25</a>' in page.render(made)


def test_two_figures_are_drawn_with_what_none_beats():
    rows = tuple(Row(name, score, None, n) for name, score, n in DOTS)
    scatter = Scatter("score by queries", across="n", down="score", front=lambda row: row.n < 9)
    table = Table("dots", "Dots", COLUMNS, rows, scatters=[scatter], shaded=True)
    drawn = draw_scatter(table, scatter)
    assert [mark.number for mark in drawn.marks] == [4, 1, 2, 3]  # the front is drawn last
    assert [mark.front for mark in drawn.marks] == [False, True, True, True]
    assert drawn.path.count("V") == 2, "the slower, worse one makes no step"
    shown = page.render(replace(make_report(), blocks=[table]))
    assert shown.count("<circle") == len(DOTS)
    assert set(re.findall(r"heat-(\d)", shown.partition("</style>")[2])) >= {"0", "9"}
    empty = replace(table, rows=[], shaded=True)
    assert draw_scatter(empty, scatter) is None
    page.render(replace(make_report(), blocks=[empty]))


def test_figures_are_drawn_as_bars(capsys):
    rows = (Row("half", 2.0, None, 0), Row("longest", 4.0, None, 0), Row("none", 0.0, None, 0))
    table = Table("bars", "Bars", COLUMNS, rows, plot=Plot("score", "bar"))
    report = replace(make_report(), blocks=[table])
    drawn = re.findall(r'<rect class="bar" x="0" width="([\d.]+)%"', page.render(report))
    assert list(map(float, drawn)) == [50, 100, 0]
    print_report(report)
    lines = capsys.readouterr().out.splitlines()
    longest, half = (
        next(line.count("█") for line in lines if line.startswith(name))
        for name in ("longest", "half")
    )
    assert longest == 2 * half > 0
    result = StudyResult(Found(), report)
    assert "<svg" not in (result._repr_html_() or "")
    with pytest.raises(AssayError, match="nothing here has intervals"):
        result.plot()
    assert page.render(replace(report, blocks=[replace(table, rows=[])]))


DOTS = (("fast", 0.2, 1), ("slower, worse", 0.1, 2), ("slower, better", 0.6, 3), ("last", 0.5, 9))


@in_json("id", "systems")
@dataclass(frozen=True)
class Found:
    id: str = "id"

    @property
    def environment(self):
        return {}

    @property
    def systems(self) -> list[str]:
        return [row.name for row in ROWS]


def test_a_result_gives_each_face(tmp_path):
    result = StudyResult(Found(), make_report())
    assert result.verdict == "words\nwords"
    assert list(result.tables) == ["systems"]
    folder = result.write(tmp_path / "made").parent
    assert json.loads((folder / "trial.json").read_text()) == result.json()
    assert {path.name for path in folder.iterdir()} == {
        "trial.json", "summary.json", "report.md", "report.html",
    }  # fmt: skip
    shown = result._repr_html_()
    assert "<svg" in shown
    assert shown.count("<tr") == 2 + len(ROWS)  # pandas names the index in a row of its own
    assert len(result.plot().get_yticklabels()) == 2
    with pytest.raises(AssayError, match="plot: other; allowed: systems"):
        result.plot("other")
