"""Grades of the page join the collection, with who gave them."""

import re

from samples.judged_guide import APT, BOTH, TEN, call, spot, write_table
from tools.project_files import read_rows

from assay.eval.collections.catalog import find_card
from assay.eval.collections.check import check


def test_grades_of_the_page_join_the_collection_with_who_gave_them(tiny, table, grades):
    start, end = spot("Use apt.")
    grades.add(APT.digest, "anna", 2)
    grades.add(APT.digest, "bo", 2)
    grades.add(TEN.digest, "anna", 3)
    grades.add(TEN.digest, "bo", 0)
    grades.add(BOTH.digest, "anna", 1, (start, end))
    grades.note(BOTH.digest, "anna", "only Debian")
    result = call(table)
    assert result.exit_code == 0, result.output
    assert "grades of the page: anna 3, bo 2; not settled: 1" in result.output
    assert "2 judgments added to tiny" in result.output
    rows = read_rows(tiny / "judgments.jsonl")[2:]
    day = rows[0].pop("judged_on")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", day)
    place = {"path": "guide.md", "start": start, "end": end, "text": "Use apt."}
    assert rows == [
        {"query_id": "q", **place, "grade": 2, "judged_by": "person anna, person bo"},
        {
            "query_id": "r", **place, "grade": 1, "comment": "only Debian",
            "judged_by": "person anna", "judged_on": day,
        },
    ]  # fmt: skip
    assert not check(find_card("tiny")), "the card is sealed"
    grades.add(TEN.digest, "bo", 1, settles=True)
    assert "1 judgments added" in call(table).output
    settled = read_rows(tiny / "judgments.jsonl")[-1]
    assert settled["grade"] == 1
    assert settled["judged_by"] == "person anna, person bo; settled by person bo"


def test_a_settlement_ends_with_its_disagreement(tiny, table, grades):
    grades.add(APT.digest, "anna", 2)
    grades.add(APT.digest, "bo", 0)
    grades.add(APT.digest, "anna", 1, settles=True)
    assert grades.undo("bo") == APT.digest
    assert call(table).exit_code == 0
    row = read_rows(tiny / "judgments.jsonl")[-1]
    assert (row["grade"], row["judged_by"]) == (2, "person anna")


def test_a_comment_in_the_table_stays_beside_the_notes(tiny, table, grades):
    write_table(table, {APT: ""}, comment="see the card")
    grades.add(APT.digest, "anna", 2)
    assert call(table, "--output", str(tiny.parent / "first")).exit_code == 0
    grades.note(APT.digest, "anna", "only Debian")
    assert call(table).exit_code == 0
    first, second = (
        read_rows(folder / "judgments.jsonl")[-1]["comment"]
        for folder in (tiny.parent / "first", tiny)
    )
    assert (first, second) == ("see the card", "see the card; only Debian")


def test_a_short_row_beside_grades_of_the_page(table, grades):
    grades.add(APT.digest, "anna", 2)
    lines = table.read_text("utf-8-sig").splitlines()
    table.write_text("\n".join([*lines, "r"]))
    result = call(table)
    assert result.exit_code == 0, result.output
    assert "rows without a grade: 3" in result.output


def test_what_has_joined_the_collection_is_not_changed(tiny, table, grades):
    grades.add(BOTH.digest, "anna", 1)
    assert "1 judgments added" in call(table).output
    grades.add(BOTH.digest, "anna", 1, spot("Use apt."))
    assert "1 judgments added" in call(table).output
    before = (tiny / "judgments.jsonl").read_bytes()
    grades.add(BOTH.digest, "anna", 0)
    grades.add(TEN.digest, "anna", 1)
    result = call(table)
    assert result.exit_code == 2
    assert "one text must have one grade" in result.output
    assert (tiny / "judgments.jsonl").read_bytes() == before


def test_a_row_changed_since_it_was_judged_is_refused(tiny, table, grades):
    grades.add(BOTH.digest, "anna", 1, spot("Use apt."))
    before = (tiny / "judgments.jsonl").read_bytes()
    write_table(table, {BOTH: "", APT: ""}, query_id="q")
    result = call(table)
    assert result.exit_code == 2
    assert "pool again" in result.output
    assert (tiny / "judgments.jsonl").read_bytes() == before
