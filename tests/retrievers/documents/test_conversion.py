"""Files become text, or a reason why not, and never anything else."""

import os
import shutil
import subprocess
import sys
import zipfile
from bisect import bisect
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.reference_documents import (
    WRITERS,
    to_html,
    write_bomb,
    write_epub,
    write_odd_texts,
    write_unreadable,
)

from assay.retrievers.base import AssayError, bounds
from assay.retrievers.documents.conversion.conversion import FORMATS, ConversionError, Converter
from assay.retrievers.documents.conversion.encodings import NotTextError, decode
from assay.retrievers.documents.conversion.folder import read_folder
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

BLOCKS = [
    (1, "Conditions of Carriage"),
    (0, "The ferry sails twice a day & more in winter."),
    (2, "Refunds"),
    (0, "A cancelled sailing is refunded within < 5 days."),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    for suffix, write in WRITERS.items():
        write(folder / f"carriage{suffix}", BLOCKS)
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def converter(store):
    with closing(Converter(store)) as converter:
        yield converter


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_format_gives_its_text(converter, folder, suffix):
    found = converter.convert(folder / f"carriage{suffix}")
    words = " ".join(found.text.split())
    assert all(text in words for level, text in BLOCKS if not level)
    assert "Refunds" in words
    assert found.size == (folder / f"carriage{suffix}").stat().st_size
    assert (found.encoding, found.seconds > 0) == ("", True)
    assert not {"\f", "\r"} & set(found.text)
    lines = found.text.splitlines()
    if suffix in (".docx", ".html", ".epub", ".pdf"):
        assert {"# Conditions of Carriage", "## Refunds"} <= set(lines)
        assert not any("var x" in line or "p {}" in line for line in lines)


def test_fonts_tell_headings_of_a_pdf(converter, tmp_path):
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate

    body = ParagraphStyle("body", fontSize=10, spaceAfter=12)
    bold = ParagraphStyle("bold", body, fontName="Helvetica-Bold")
    title = ParagraphStyle("title", body, fontSize=20, leading=24)
    running = ParagraphStyle("running", body, fontSize=14)
    prose = "The ferry sails twice a day, and in winter once. " * 4
    long = "Conditions of carriage for passengers, vehicles and livestock on all lines"
    flow = [Paragraph("Refunds of a fare", body), Paragraph(long, title), Paragraph(prose, body)]
    for _ in range(3):
        flow += [Paragraph("Harbourline", running), Paragraph(prose, body), PageBreak()]
    flow += [Paragraph("Refunds of a fare", bold), Paragraph(prose, body)]
    SimpleDocTemplate(str(tmp_path / "a.pdf"), invariant=1).build(flow)
    lines = converter.convert(tmp_path / "a.pdf").text.splitlines()
    assert [line for line in lines if line.startswith("#")] == [f"# {long}", "## Refunds of a fare"]
    assert lines[0] == "Refunds of a fare"
    assert lines.count("Harbourline") == 3


@pytest.mark.parametrize("tables", [False, True])
def test_pages_of_a_pdf_are_known(converter, tmp_path, tables):
    """A converter reads a PDF with tables in another way; a scan of a cover holds no text."""
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table

    body = ParagraphStyle("body", fontSize=10, spaceAfter=12)
    names = ("quay", "berth", "mooring", "ferry", "lighthouse")
    flow = [Spacer(1, 1), PageBreak()]
    for name in names:
        flow += [Paragraph("Harbour manual", body), Paragraph(f"Here the {name} opens.", body)]
        flow += [Paragraph(f"Whoever keeps the {name} keeps it clean at all hours. " * 9, body)]
        if tables:
            rows = [["Item", "Fee", "Unit"], *([f"{name} {n}", f"{n}0", "day"] for n in range(25))]
            flow += [Table(rows, colWidths=[150, 150, 150])]
        flow += [Paragraph(f"Here the {name} closes.", body), PageBreak()]

    def number(canvas, _):
        canvas.drawString(280, 30, f"Page {canvas.getPageNumber()}")

    pdf = SimpleDocTemplate(str(tmp_path / "a.pdf"), invariant=1)
    pdf.build(flow, onLaterPages=number)
    found = converter.convert(tmp_path / "a.pdf")
    assert ("|" in found.text) == tables
    for page, name in enumerate(names, start=2):
        for words in (f"Here the {name} opens", f"Here the {name} closes"):
            assert bisect(found.pages, found.text.index(words)) == page


def test_what_surrounds_a_page_is_left_out(converter, tmp_path):
    around = "<nav><a href='/'>Home</a></nav><div role='navigation'>Up</div>"
    article = "<article><h1>Fares</h1><p>Adults pay ten.</p><footer>By the clerk</footer></article>"
    page = f"<html><body>{around}{article}<footer>Imprint</footer></body></html>"
    (tmp_path / "page.html").write_text(page)
    text = converter.convert(tmp_path / "page.html").text
    assert text == "# Fares\n\nAdults pay ten.\n\nBy the clerk"
    (tmp_path / "map.html").write_text("<nav><p>All lines</p></nav>")
    assert converter.convert(tmp_path / "map.html").text == "All lines"


def test_a_table_without_a_head_has_its_first_row(converter, tmp_path):
    import docx

    document = docx.Document()
    table = document.add_table(2, 2)
    for cell, text in zip(table._cells, ("Line", "Fare", "North", "10"), strict=True):
        cell.text = text
    document.save(str(tmp_path / "a.docx"))
    lines = converter.convert(tmp_path / "a.docx").text.splitlines()
    assert lines == ["| Line | Fare |", "| --- | --- |", "| North | 10 |"]


def test_titles_that_no_heading_says(converter, tmp_path):
    (tmp_path / "page.html").write_text(to_html(BLOCKS[1:2], 'The "Ferry"\n page'))
    assert converter.convert(tmp_path / "page.html").text.startswith(
        '---\ntitle: "The \\"Ferry\\" page"\n---\n\nThe ferry sails'
    )
    (tmp_path / "headed.html").write_text(to_html(BLOCKS, "Harbourline | Conditions"))
    assert converter.convert(tmp_path / "headed.html").text.startswith("# Conditions of Carriage")
    write_epub(tmp_path / "book.epub", BLOCKS, "The Book")
    assert converter.convert(tmp_path / "book.epub").text.startswith('---\ntitle: "The Book"\n---')


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
def test_html_in_other_encodings(converter, tmp_path, encoding):
    head = f'<html><head><meta charset="{encoding}"></head><body>'
    (tmp_path / "page.htm").write_bytes(f"{head}<p>Déjà vu à Köln</p></body>".encode(encoding))
    assert converter.convert(tmp_path / "page.htm").text == "Déjà vu à Köln"


@given(st.text(min_size=1).filter(lambda text: "\ufeff" not in text and "\0" not in text))
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_unicode_is_taken_as_it_is(encoding, text):
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError:
        return
    assert decode(data) == (text, encoding)


@given(st.binary(min_size=1))
def test_bytes_are_text_or_not_and_nothing_else(data):
    try:
        text, encoding = decode(data)
    except NotTextError:
        return
    assert text.encode(encoding).decode(encoding) == text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "Übergepäck kostet “zwölf” €uro.\r\n"),
        ("cp1252", "naïve"),
        ("latin-1", "Le café est fermé à Noël."),
        ("cp1250", "Zażółć gęślą jaźń. Příliš žluťoučký kůň úpěl ďábelské ódy."),
        ("cp1251", "Паром отправляется в шесть часов вечера."),
        ("cp932", "これは日本語の文章です。船は六時に出ます"),
        ("gb18030", "这是一个中文文本。轮渡晚上六点出发"),
    ],
)
def test_older_encodings_are_guessed(encoding, text):
    assert decode(text.encode(encoding))[0] == text


def test_what_was_converted_is_not_converted_again(converter, tmp_path):
    original = tmp_path / "a.docx"
    WRITERS[".docx"](original, BLOCKS[1:])
    first = converter.convert(original)
    again = converter.convert(original.rename(tmp_path / "b.docx"))
    WRITERS[".docx"](original, BLOCKS[:2])
    edited = converter.convert(original)
    assert (first.cached, again.cached, edited.cached) == (False, True, False)
    assert (again.text, again.seconds) == (first.text, first.seconds)
    assert "Refunds" not in edited.text


def test_unreadable_files_are_named_and_the_rest_goes_on(store, tmp_path):
    write_odd_texts(tmp_path)
    write_unreadable(tmp_path, BLOCKS)
    for name in (".hidden.md", "~$lock.docx", ".git/config.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    read = read_folder(tmp_path, Resources(store, threads=1))
    texts = {item.id: item.converted.text for item in read.documents}
    assert texts.pop("line.txt") == "word " * 3000
    assert texts == {
        "latin.md": "# Naïve café\n\nDéjà vu à la crème.\n",
        "marked.md": "\ufeff# Marked\r\n\r\nWith a BOM.\r\n",
        "wide.txt": "Tide tables, in UTF-16.\n",
        "windows.txt": "Übergepäck kostet “zwölf” €uro.\r\n",
    }
    reasons = {item.path: (item.kind, item.reason) for item in read.skipped}
    beginnings = {
        "Makefile": ("other", "a file without a suffix"),
        "binary.txt": ("broken", "is not text"),
        "blank.txt": ("blank", "holds no text"),
        "cut.docx": ("broken", "is broken"),
        "cut.pdf": ("broken", "cannot be converted: "),
        "empty.md": ("blank", "is empty"),
        "locked.docx": ("broken", "is protected by a password"),
        "locked.pdf": ("broken", "is protected by a password"),
        "logo.png": ("other", "format .png"),
        "old.docx": ("broken", "is in Office's old binary format"),
        "other.docx": ("broken", "cannot be converted: "),
        "page.pdf": ("broken", "is broken, or not a PDF"),
        "scan.pdf": ("blank", "holds no text; a scanned PDF needs text recognition"),
    }
    assert reasons.keys() == beginnings.keys()
    for name, (kind, beginning) in beginnings.items():
        assert reasons[name][0] == kind
        assert reasons[name][1].startswith(beginning), reasons[name]
        assert "\n" not in reasons[name][1]


@pytest.mark.slow
def test_one_thread_or_several_read_the_same(store, folder, tmp_path):
    one = read_folder(folder, Resources(store, threads=1))
    two = read_folder(folder, Resources(Cache(tmp_path / "two"), threads=2))
    assert [(item.id, item.converted.text) for item in one.documents] == [
        (item.id, item.converted.text) for item in two.documents
    ]
    assert [item.id for item in one.documents] == sorted(f"carriage{name}.md" for name in WRITERS)


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are Unicode elsewhere")
def test_names_that_are_taken_or_not_unicode(folder, store, tmp_path):
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("Bad name.")
    shutil.copy(folder / "carriage.html", tmp_path / "a.html")
    (tmp_path / "a.html.md").write_text("My own.")  # a text keeps its name
    read = read_folder(tmp_path, Resources(store))
    assert [item.converted.text for item in read.documents] == ["My own."]
    assert [item.path for item in read.skipped] == ["a.html", "caf\\udce9.md"]
    assert str(read.skipped[1]) == "caf\\udce9.md: its name is not in UTF-8; rename it"


def test_folders_without_documents(store, tmp_path, monkeypatch):
    with pytest.raises(AssayError, match="there is no such folder"):
        read_folder(tmp_path / "nowhere", Resources(store))
    for name in ("logo.png", "mark.png", "a.key", "b.key"):
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(AssayError, match=r"a\.key: is no folder"):
        read_folder(tmp_path / "a.key", Resources(store))
    (tmp_path / "empty.md").write_bytes(b"")
    said = []
    resources = Resources(store)
    monkeypatch.setattr(resources.progress, "say", said.append)
    with pytest.raises(AssayError, match="holds no documents; allowed: "):
        read_folder(tmp_path, resources)
    assert said == [
        "a.key: format .key is not read",
        "empty.md: is empty",
        "logo.png: format .png is not read",
    ]
    assert set(WRITERS) < set(FORMATS)


def test_bombs_and_huge_files_are_not_read(converter, tmp_path, monkeypatch):
    write_bomb(tmp_path / "bomb.docx", 3 << 20)
    (tmp_path / "huge.txt").write_bytes(b"x" * (2 << 20))
    monkeypatch.setattr(bounds, "ARCHIVE", 2 << 20)
    monkeypatch.setattr(bounds, "DOCUMENT", 1 << 20)
    for name, says in (("bomb.docx", "unpacks to 3 MB; at most 2 MB"), ("huge.txt", "large: 2 MB")):
        with pytest.raises(ConversionError, match=says):
            converter.convert(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "members", "reason"),
    [
        ("a.docx", {"word/document.xml": "a " * 20_000_000}, "unpacks to 38 MB; at most 32 MB"),
        ("a.xlsx", {"xl/worksheets/sheet1.xml": " " * 40_000_000}, "unpacks to 38 MB"),
        ("a.epub", {"a.xhtml": "<p>x</p>" * 5_000_000}, "unpacks to 38 MB"),
        ("b.pptx", {f"a{i}": "" for i in range(10_001)}, "holds 10,001 files; at most 10,000"),
    ],
)
def test_what_unpacks_out_of_proportion_is_refused_unread(
    converter, tmp_path, name, members, reason
):
    with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, text in members.items():
            archive.writestr(member, text)
    with pytest.raises(ConversionError, match=reason):
        converter.convert(tmp_path / name)


def test_a_page_whose_text_is_out_of_proportion_is_refused(converter, tmp_path, monkeypatch):
    page = tmp_path / "table.html"
    page.write_text(f"<table><tr>{'<td colspan=1000>x</td>' * 100}</tr></table>")
    assert len(converter.convert(page).text) > 400_000
    monkeypatch.setattr(bounds, "SMALL_ARCHIVE", 1 << 16)
    with pytest.raises(ConversionError, match=r"gives [\d,]+ characters, over 100 times its size"):
        converter.convert(page)


def test_a_page_of_elements_within_elements_is_refused_before_it_is_parsed(converter, tmp_path):
    page = tmp_path / "bomb.html"
    page.write_text("<div>" * 300_000 + "Pay by noon." + "</div>" * 300_000)
    with pytest.raises(ConversionError, match="nests elements over 10,000 deep; fewer are read"):
        converter.convert(page)
    # Old pages leave out end tags; deep ones lose their form, and say so.
    page.write_text("<body>" + "<div><br><img/><p>Pay <b>by</b> noon.<hr></div>" * 11_000)
    assert not converter.convert(page).notes
    page.write_text(f"<h1>Fees</h1>{'<div>' * 2000}Pay by noon.")
    found = converter.convert(page)
    assert found.text == "Fees\nPay by noon."
    assert found.notes == (
        "its elements nest too deep; taken as plain text, without headings and tables",
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there the clock is the limit")
def test_a_file_ends_its_process_where_it_takes_more_than_its_size_explains(
    converter, folder, tmp_path, monkeypatch
):
    page = tmp_path / "bomb.html"
    page.write_text("<html><body>" + "<p>x</p>" * 500_000)
    monkeypatch.setattr(bounds, "CONVERSION", 1)
    monkeypatch.setattr(bounds, "CONVERSION_PER_MEGABYTE", {".html": 0})
    with pytest.raises(ConversionError, match="takes more than 1 s to convert"):
        converter.convert(page)
    monkeypatch.undo()
    assert converter.convert(folder / "carriage.docx").text


def test_what_takes_too_long_is_stopped(folder, tmp_path):
    with (
        closing(Converter(Cache(tmp_path), seconds=0.01)) as converter,
        pytest.raises(ConversionError, match=r"takes more than 0\.01 s"),
    ):
        converter.convert(folder / "carriage.pdf")


@pytest.mark.slow
def test_a_dead_process_costs_one_file(converter, tmp_path):
    original = tmp_path / "a.docx"
    WRITERS[".docx"](original, BLOCKS[2:])
    converter.convert(original)
    WRITERS[".docx"](original, BLOCKS[3:])
    converter._process.kill()
    with pytest.raises(ConversionError, match="ended its converter"):
        converter.convert(original)
    assert "refunded" in converter.convert(original).text


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere time is the limit")
def test_memory_is_limited():
    code = (
        "from assay.retrievers.documents.conversion import converter; converter._limit_memory();"
        "bytearray(converter.BYTES_OF_MEMORY)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MemoryError" in done.stderr
