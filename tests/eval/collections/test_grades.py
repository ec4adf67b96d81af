"""Grades in other people's tables: read by any known name, never guessed."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas import DataFrame

from assay.eval.collections.authoring.author import Origin, author
from assay.eval.collections.formats.rows import GRADES, Row, RowError, read_grade
from assay.eval.collections.in_memory import make_collection
from assay.retrievers.base import AssayError

DOCUMENTS = {"d1": "The ferry sails twice a day.", "d2": "Dogs travel on the open deck."}
QUERIES = {"q1": "when does the ferry sail", "q2": "dogs"}

names = st.sampled_from(GRADES).flatmap(
    lambda name: st.sampled_from([name, name.upper(), name.title(), f" {name} "])
)


@given(names, st.lists(st.integers(0, 3), min_size=2, max_size=2))
def test_any_known_name_in_any_case_is_the_grade(name, grades):
    table = DataFrame({"query_id": ["q1", "q2"], "doc_id": ["d1", "d2"], name: grades})
    read = make_collection(DOCUMENTS, QUERIES, table).gold
    assert [item.grade for id_ in QUERIES for item in read.get(id_, ())] == grades


def test_numbers_under_another_name_are_refused_where_no_grade_is_given():
    table = DataFrame({"query_id": ["q1"], "doc_id": ["d1"], "stars": [0]})
    with pytest.raises(AssayError, match='"stars" holds numbers, and no grade is given') as told:
        make_collection(DOCUMENTS, QUERIES, table)
    assert all(name in str(told.value) for name in GRADES)
    graded = make_collection(DOCUMENTS, QUERIES, table.assign(Rating=[2]))
    assert [item.grade for item in graded.gold["q1"]] == [2]


@pytest.mark.parametrize(
    ("values", "grade"),
    [
        ({}, 1),
        ({"relevance": 0}, 0),
        ({"Relevance": 2.0}, 2),
        ({"rating": 0, "start": 3, "end": 9}, 0),
        ({"start": 3, "end": 9}, 1),
        ({"score": 7, "grade": 2}, 2),
        ({"section": "4"}, 1),
    ],
)
def test_a_row_of_json_lines(values, grade):
    assert read_grade(Row(Path("spans.jsonl"), 1, values)) == grade


@pytest.mark.parametrize("values", [{"stars": 0}, {"confidence": 0.4}, {"grade": 0.5}])
def test_a_row_whose_number_is_not_understood_is_refused(values):
    with pytest.raises(RowError, match="|".join(values)):
        read_grade(Row(Path("spans.jsonl"), 1, values))


def write_table(folder, heading, grades):
    rows = zip(("when?", "dogs?", "how often?"), ("sails", "Dogs", "twice"), grades, strict=True)
    lines = [f"question,quote,{heading}", *(",".join(row) for row in rows)]
    path = folder / "questions.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def documents(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text("\n\n".join(DOCUMENTS.values()) + "\n")
    return tmp_path / "docs"


@pytest.mark.parametrize("heading", ["Rating", "relevance", "grade", "Judgment"])
def test_questions_keep_the_grades_of_their_table(documents, heading):
    table = write_table(documents.parent, heading, ("2.0", "", "0"))
    author(Origin(documents), table, None, documents.parent / "judged", force=False)
    lines = (documents.parent / "judged" / "judgments.jsonl").read_text().splitlines()
    assert [json.loads(line)["grade"] for line in lines] == [2, 1, 0]


def test_questions_with_numbers_that_are_not_understood_make_nothing(documents):
    table = write_table(documents.parent, "stars", ("2", "", "0"))
    with pytest.raises(AssayError, match=r'questions\.csv: "stars" holds numbers'):
        author(Origin(documents), table, None, documents.parent / "judged", force=False)
    assert not (documents.parent / "judged").exists()
