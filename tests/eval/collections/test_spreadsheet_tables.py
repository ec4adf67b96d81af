"""Tables for spreadsheets: none of them holds a formula, and what is read is what was written."""

import csv
import io
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from assay.eval.api import run
from assay.eval.collections.authoring.author import render_unlocated
from assay.eval.collections.authoring.questions import read_questions
from assay.eval.collections.authoring.span_location import locate
from assay.eval.collections.formats.cells import arm, render_table
from assay.eval.studies.run.verifying import verify
from assay.retrievers.base import Document

ROOT = Path(__file__).parents[3]
FORMULA = tuple("=+-@\t\r\n＝＋－＠")
TEXTS = st.text(st.sampled_from("'=+-@\t\r\n＝,;\"a") | st.characters(exclude_categories=["Cs"]))


def list_formulas(table):
    with table.open(newline="") as file:
        return [cell for row in csv.reader(file) for cell in row if cell.startswith(FORMULA)]


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1))
def test_no_cell_is_a_formula_and_every_text_is_read_again(rows):
    cells = list(csv.reader(io.StringIO(render_table(rows), newline="")))
    assert not [cell for row in cells for cell in row if cell.startswith(FORMULA)]
    assert [tuple(map(arm, row)) for row in cells] == rows


def test_numbers_stay_numbers():
    assert render_table([[-0.5, 3, None, "-0.5"]]) == "-0.5,3,,'-0.5\r\n"


def test_one_place_writes_csv():
    sources = [path for name in ("eval", "assay") for path in (ROOT / name).rglob("*.py")]
    writing = [path for path in sources if re.search(r"csv\.(Dict)?[wW]riter", path.read_text())]
    assert [path.relative_to(ROOT).as_posix() for path in writing] == [
        "eval/collections/formats/cells.py"
    ]


def test_ids_in_a_run_s_tables_are_no_formulas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    documents = {"=1+1": "apples", "@x": "bread", "'=1+1": "cats"}
    queries = {"=q": "apples", "-q": "bread"}
    judgments = {"=q": {"=1+1": 1}, "-q": {"@x": 2, "'=1+1": 1}}
    collection = {"documents": documents, "queries": queries, "judgments": judgments}
    found = {"=q": ["@x", "=1+1"], "-q": ["'=1+1", "@x"]}
    measures = ["nDCG@10", "Recall@5tok", "Tokens@10"]
    folder = run(found, collection=collection, measures=measures, track=False).stored.folder
    for name in ("items.csv", "per_query.csv"):
        with (folder / name).open(newline="") as file:
            assert not [
                cell for row in csv.reader(file) for cell in row if cell.startswith(FORMULA)
            ]
    assert {check.verdict for check in verify(folder)} == {"identical"}


def test_questions_that_were_not_located_are_read_as_they_were_asked(tmp_path):
    asked = tmp_path / "asked.csv"
    asked.write_text("question,quote,id\n=1+1?,- not there,@1\n'-ism?,'-ism,2\n")
    questions = read_questions(asked).rows
    assert [(item.question, item.quote, item.id) for item in questions] == [
        ("=1+1?", "- not there", "@1"),
        ("'-ism?", "'-ism", "2"),
    ]
    unlocated = locate(questions, {"a.md": Document("a.md", "Apples.")}).unlocated
    listed = tmp_path / "unlocated.csv"
    listed.write_text(render_unlocated(unlocated), newline="")
    assert not list_formulas(listed)
    again = read_questions(listed).rows
    assert [(item.question, item.quote, item.id) for item in again] == [
        (item.question, item.quote, item.id) for item in questions
    ]
