"""Bounds of foreign files: what keeps them is read as it is, what exceeds them ends in one line."""

import gzip
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.eval.collections.authoring.questions import read_questions
from assay.eval.collections.formats.reading import read_jsonl, read_lines
from assay.eval.collections.problems import Problems
from assay.eval.runs.run_files import read_run_file
from assay.retrievers.base import AssayError, bounds
from assay.retrievers.base.bounds import open_bounded
from assay.retrievers.base.json_text import parse_json
from assay.retrievers.base.yaml_text import parse_yaml
from assay.retrievers.settings.files import read_mapping

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def nest(depth, inmost="1"):
    return "[" * depth + inmost + "]" * depth


@given(VALUES, st.booleans())
def test_json_is_read_as_by_the_standard_library(value, ascii_):
    text = json.dumps(value, ensure_ascii=ascii_)
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    assert parse_json(text) == json.loads(text)


@example(201, "")
@example(202, "")
@given(st.integers(1, 400), st.sampled_from(["", "1", "NaN", '{"a": 1}', '"\\ud800"']))
def test_json_is_read_up_to_one_depth(depth, inmost):
    deep = depth + inmost.startswith("{") - (not inmost)  # an empty list adds no depth
    if deep <= bounds.JSON_DEPTH:
        parse_json(nest(depth, inmost))
    else:
        with pytest.raises(ValueError, match="nested more than 200 deep"):
            parse_json(nest(depth, inmost))


@pytest.mark.parametrize("depth", [201, 990, 200_000])
def test_deep_json_is_refused_by_line(depth, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"query_id": "q", "ranking": [], "metadata": {nest(depth)}}}\n')
    with pytest.raises(AssayError, match=r"a\.jsonl:1: .*nested more than 200 deep"):
        list(read_jsonl(path, Problems(strict=True)))
    with pytest.raises(AssayError, match=r"a\.jsonl.*: nested more than 200 deep"):
        read_run_file(path)


@pytest.mark.parametrize("packed", [False, True])
@given(data=st.data())
def test_a_file_is_read_up_to_its_bound(packed, data, tmp_path_factory):
    content = data.draw(st.binary(max_size=5_000))
    most = data.draw(st.integers(0, 5_000))
    path = tmp_path_factory.getbasetemp() / "bounded"
    path.write_bytes(gzip.compress(content) if packed else content)
    with open_bounded(path, most, packed=packed) as file:
        if len(content) <= most:
            assert file.read() == content
        else:
            with pytest.raises(AssayError, match="bounded: holds more than 0 MB"):
                file.read()


def test_a_line_without_end_is_refused_by_its_number(tmp_path, monkeypatch):
    monkeypatch.setattr(bounds, "LINE", 1 << 20)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"{}\n" + b"x" * (1 << 20) + b"\n"))
    lines = read_lines(path, Problems(strict=True))
    assert next(lines) == (1, "{}")
    with pytest.raises(AssayError, match=r"a\.jsonl\.gz:2: a line of more than 1 MB"):
        next(lines)


def test_a_run_that_unpacks_out_of_proportion_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(bounds, "SMALL", 1 << 20)
    path = tmp_path / "run.trec.gz"
    path.write_bytes(gzip.compress(b"q Q0 d 1 1.0 t\n" * 1_000_000))
    with pytest.raises(AssayError, match=r"unpacks to more than \d+ MB, over 100 times its size"):
        read_run_file(path)


def test_yaml_is_read_up_to_a_megabyte(tmp_path):
    assert len(parse_yaml("x" * bounds.SETTINGS, "a")) == bounds.SETTINGS
    path = tmp_path / "a.yaml"
    path.write_text(f"a: {'x' * bounds.SETTINGS}\n")
    with pytest.raises(AssayError, match=r"a\.yaml: holds more than 1 MB"):
        read_mapping(path)
    with pytest.raises(AssayError, match="a: line 3: 1,048,577 characters; at most 1,048,576"):
        parse_yaml("x" * (bounds.SETTINGS + 1), "a", line=3)


@pytest.mark.parametrize("column", ["question", "quote", "document", "type", "grade", "id"])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".xlsx"])
def test_a_cell_of_questions_has_a_bound(column, suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(bounds, "CELL", 30_000)  # a sheet holds no more than 32,767
    path = tmp_path / f"q{suffix}"

    def write(size):
        values = {"question": "how?", column: "x" * size}
        if suffix == ".xlsx":
            write_sheet(path, [list(values), list(values.values())])
        elif suffix == ".csv":
            path.write_text(f"{','.join(values)}\n{','.join(values.values())}\n")
        else:
            path.write_text(f"{json.dumps(values)}\n")

    write(bounds.CELL)
    assert len(getattr(read_questions(path).rows[0], column)) == bounds.CELL
    write(bounds.CELL + 1)
    place = rf"{suffix}:{1 if suffix == '.jsonl' else 2}: the {column} has 30,001 characters"
    with pytest.raises(AssayError, match=place):
        read_questions(path)


def write_sheet(path, rows):
    import openpyxl

    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('<row r="99999999999"><c r="A99999999999"><v>1</v></c></row>', "more than 1,048,576 rows"),
        ("".join(f'<row r="{i}"><c r="XFD{i}"/></row>' for i in range(3, 700)), "10,000,000 cells"),
        (" " * 40_000_000, "unpacks to 38 MB; at most 32 MB are read"),
    ],
)
def test_a_sheet_of_questions_has_bounds(row, reason, tmp_path):
    import zipfile

    write_sheet(tmp_path / "q.xlsx", [["question"], ["how?"]])
    bomb = tmp_path / "bomb.xlsx"
    with (
        zipfile.ZipFile(tmp_path / "q.xlsx") as sound,
        zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as made,
    ):
        for name in sound.namelist():
            end = "</sheetData>"
            made.writestr(name, sound.read(name).decode().replace(end, f"{row}{end}"))
    with pytest.raises(AssayError, match=f"bomb.xlsx: .*{reason}"):
        read_questions(bomb)
