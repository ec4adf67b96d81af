"""Cells of sheets and tables are what a person sees, in the columns where they stand."""

import io
from datetime import date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from assay.retrievers.base import Document
from assay.retrievers.base.quotes import Locator
from assay.retrievers.documents.conversion.converter import _convert
from assay.retrievers.documents.conversion.number_formats import show
from assay.retrievers.documents.conversion.tables import escape_cell

SHOWN = [
    (7, "General", "7"),
    (7.0, "General", "7"),
    (0.1 + 0.2, "General", "0.3"),
    (3.14159265358979, "General", "3.141592654"),
    (1234567890.123, "General", "1234567890"),
    (123456789012, "General", "1.23457E+11"),
    (0.0000123, "General", "0.0000123"),
    (0.0000123456789, "General", "1.23457E-05"),
    (True, "General", "TRUE"),
    ("NA", "General", "NA"),
    ("x", '"<"@">"', "<x>"),
    (7, "000", "007"),
    (2.5, "0", "3"),
    (-3, "0", "-3"),
    (-0.001, "0.00", "0.00"),
    (0, "#", ""),
    (5, ";;;", ""),
    (5, "@", "5"),
    (0.5, "0.##", "0.5"),
    (0.15, "0%", "15%"),
    (0.155, "0.0%", "15.5%"),
    (0.25, "0.00\\ %", "25.00 %"),
    (1234567.891, "#,##0.00", "1,234,567.89"),
    (5, "00,000", "00,005"),
    (1234567, "#,##0,", "1,235"),
    (1234567, '0.0,,"M"', "1.2M"),
    (-5, "0.00;[Red](0.00)", "(5.00)"),
    (0, '0;-0;"none"', "none"),
    (50, '[>100]"high";"low"', "low"),
    (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
    (1234.5, '"$"#,##0.00_);("$"#,##0.00)', "$1,234.50"),
    (-44, "_-* #,##0.00\\ _€_-;\\-* #,##0.00\\ _€_-", "-44.00"),
    (3, '0 "km"', "3 km"),
    (5551234567, "(000) 000-0000", "(555) 123-4567"),
    (12345.678, "0.00E+00", "1.23E+04"),
    (1.5, '# ?/? "in"', "1 1/2 in"),
    (datetime(2024, 3, 5), "yyyy-mm-dd", "2024-03-05"),
    (date(2024, 3, 5), "DD/MM/YYYY", "05/03/2024"),
    (datetime(2024, 3, 5), "dddd, mmmm dd", "Tuesday, March 05"),
    (datetime(2024, 3, 5), "mm-dd-yy", "2024-03-05"),
    (datetime(2024, 3, 5, 14, 7, 9), "h:mm:ss AM/PM", "2:07:09 PM"),
    (datetime(2024, 3, 5, 14, 7, 9, 123000), "mm:ss.0", "07:09.1"),
    (time(9, 5), "hh:mm", "09:05"),
    (timedelta(hours=30, minutes=5), "[h]:mm", "30:05"),
]
TEXTS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=12)
NUMBERS = st.integers(-(10**9), 10**9).map(lambda n: n / 1000)
CELLS = st.one_of(
    st.none(),
    TEXTS.map(lambda text: (text, "General", text)),
    st.sampled_from(
        ["NA", "N/A", "None", "nan", "007", "1.0", "a|b", "\\|", "a\nb", "-", "#REF"]
    ).map(lambda text: (text, "General", text)),
    st.integers(-(10**9), 10**9).map(lambda n: (n, "General", str(n))),
    NUMBERS.map(lambda n: (n, "0.000", f"{n:.3f}")),
    NUMBERS.map(lambda n: (n, "#,##0.000", f"{n:,.3f}")),
    st.integers(0, 999).map(lambda n: (n / 100, "0%", f"{n}%")),
    st.integers(0, 999).map(lambda n: (n, "00000", f"{n:05d}")),
    st.dates(date(1950, 1, 1), date(2050, 1, 1)).map(lambda d: (d, "dd.mm.yyyy", f"{d:%d.%m.%Y}")),
    st.booleans().map(lambda b: (b, "General", str(b).upper())),
)


def convert(book):
    file = io.BytesIO()
    book.save(file)
    return _convert(".xlsx", file.getvalue())


def read_table(text):
    """Return the cells that a reader of Markdown sees, row by row."""
    rows = []
    for token in MarkdownIt("zero").enable("table").parse(text):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            rows[-1].append(token.content)
    return rows


@pytest.mark.parametrize(("value", "code", "shown"), SHOWN)
def test_values_are_shown_by_their_formats(value, code, shown):
    assert show(value, code) == shown


@given(st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=1, max_size=4))
def test_every_cell_of_a_workbook_is_found_as_it_is_shown(rows):
    import openpyxl

    book = openpyxl.Workbook()
    for i, row in enumerate(rows, start=1):
        for j, cell in enumerate(row, start=1):
            if cell:
                place = book.active.cell(i, j)
                place.value = cell[0]
                if isinstance(cell[0], str):
                    place.data_type = "s"  # a text that begins with = is no formula
                place.number_format = cell[1]
    text = convert(book)["text"]
    shown = [cell[2].strip() for row in rows for cell in row if cell]
    locator = Locator({"d": Document("d", text, "")})
    for cell in filter(None, shown):
        assert escape_cell(cell) in text
        assert any(map(str.isalnum, cell)) <= bool(locator.find(cell)), cell
    table = read_table(text)
    assert len({len(row) for row in table}) <= 1
    assert ("NaN" in text) <= any("NaN" in cell for cell in shown)
    assert "Unnamed" not in text


def test_what_is_hidden_is_left_out_and_named():
    import openpyxl

    book = openpyxl.Workbook()
    prices = book.active
    prices.title = "Prices"
    prices.append(["Line", "Cost", "Fare"])
    prices.append(["North", 3, 10])
    prices.append(["Old", 4, 9])
    prices.append(["Sum", None, "=A1+1"])  # a formula without a result stands as it is written
    prices.column_dimensions["B"].hidden = True
    prices.row_dimensions[3].hidden = True
    book.create_sheet("Secret").append(["margin", 0.7])
    book["Secret"].sheet_state = "veryHidden"
    found = convert(book)
    assert found["text"] == (
        "## Prices\n\n| Line | Fare |\n| --- | --- |\n| North | 10 |\n| Sum | =A1+1 |"
    )
    assert found["notes"] == [
        'the hidden sheet "Secret" is left out',
        '5 hidden cells of the sheet "Prices" are left out',
    ]


@given(st.data())
def test_spans_of_a_page_keep_every_row_in_its_columns(data):
    height, width = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    taken = set()
    expected = [[""] * width for _ in range(height)]
    page = "<table>"
    for i in range(height):
        page += "<tr>"
        for j in range(width):
            if (i, j) in taken:
                continue
            tall, wide = data.draw(st.integers(1, height - i)), data.draw(st.integers(1, width - j))
            while any((i, j + k) in taken for k in range(wide)):
                wide -= 1
            taken |= {(i + k, j + n) for k in range(tall) for n in range(wide)}
            expected[i][j] = f"c{i}{j}|x"
            page += f'<td rowspan="{tall}" colspan="{wide}"><p>c{i}{j}|x</p></td>'
        page += "</tr>"
    text = _convert(".html", f"<body>{page}</table></body>".encode())["text"]
    assert read_table(text) == expected


def test_tables_of_a_word_document_keep_their_columns():
    import docx

    document = docx.Document()
    table = document.add_table(3, 2)
    for cell, text in zip(table._cells, ("Line", "Fare", "a|b", "NA", "", "007"), strict=True):
        cell.text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    file = io.BytesIO()
    document.save(file)
    text = _convert(".docx", file.getvalue())["text"]
    assert read_table(text) == [["Line", "Fare"], ["a|b", "NA"], ["", "007"]]
    inner = "<table><tr><td>a</td><td>b</td></tr></table>"
    page = f"<table><tr><td>Line</td><td>Fare</td></tr><tr><td>N</td><td>{inner}</td></tr></table>"
    assert read_table(_convert(".html", page.encode())["text"]) == [["Line", "Fare"], ["N", "a b"]]
