"""Judgments of a table become part of a collection: what is refused, and what is written."""

import json
import re
from pathlib import Path

import pytest
from samples.judged_guide import (
    APT,
    CARD,
    GUIDE,
    call,
    pair,
    read_grades,
    spot,
    write_jsonl,
    write_table,
)

from assay.eval.collections.authoring.worksheet import Pair
from assay.eval.collections.catalog import find_card, read_card
from assay.eval.collections.check import check
from assay.eval.collections.loading import load
from assay.retrievers.base import AssayError


def read_folder(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


# In place


def test_judgments_join_those_of_a_native_collection(tiny, tmp_path):
    table = write_table(
        tmp_path / "t.csv",
        {
            pair("q", "Use apt."): "1",
            pair("r", "=Ten a day."): " 2 ",
            pair("r", "Use apt."): "",
            pair("q", "=Ten a day."): "0",
            pair("q", "Install it."): "3",
        },
        comment="but only on Debian",
    )
    before = (tiny / "judgments.jsonl").read_text()
    result = call(table)
    assert result.exit_code == 0, result.output
    assert "3 judgments added to tiny" in result.output
    assert "rows without a grade: 1; judged so before: 1" in result.output
    after = (tiny / "judgments.jsonl").read_text()
    assert after.startswith(before), "what was there stays as it is"
    rows = [json.loads(line) for line in after.removeprefix(before).splitlines()]
    assert [row["grade"] for row in rows] == [1, 2, 0]
    assert rows[0]["text"] == "Use apt."
    assert [row.get("comment") for row in rows] == ["but only on Debian", None, None]
    start, end = spot("Use apt.")
    assert read_grades("tiny")["q"][f"guide.md[{start}:{end}]"] == 1
    assert not check(find_card("tiny")), "the card is sealed"
    assert (tiny / "dataset.yaml").read_text().startswith(CARD)
    assert not list(tiny.rglob(".*"))
    again = read_folder(tiny)
    result = call(table, "--json")
    assert json.loads(result.output) == {
        "ok": True, "added": 0, "unfilled": 1, "known": 4, "card": None, "files": [],
    }  # fmt: skip
    assert read_folder(tiny) == again


def test_a_file_without_a_last_line_end_and_a_query_judged_in_the_second_file(tiny, tmp_path):
    """A file of judgments adds only queries that no earlier file judges."""
    first, second = (tiny / "judgments.jsonl").read_text().splitlines()
    (tiny / "judgments.jsonl").write_text(first)
    (tiny / "more.jsonl").write_text(second)
    card = f"{CARD}judgments: {{test: [judgments.jsonl, more.jsonl]}}\n"
    (tiny / "dataset.yaml").write_text(card)
    table = write_table(
        tmp_path / "t.csv", {pair("q", "Use apt."): "1", pair("r", "Use apt."): "2"}
    )
    assert call(table).exit_code == 0
    start, end = spot("Use apt.")
    added = f"guide.md[{start}:{end}]"
    assert {query: items[added] for query, items in read_grades("tiny").items()} == {"q": 1, "r": 2}
    assert len((tiny / "judgments.jsonl").read_text().splitlines()) == 2


# What is refused

WRONG = {
    "query": ({"query_id": "0"}, 'there is no query "0"'),
    "document": ({"doc_id": "gone.md"}, 'there is no document "gone.md"'),
    "span": ({"end": "4000"}, "is not within"),
    "order": ({"start": "31"}, "is not within"),
    "offset": ({"start": "22.0"}, "must be a whole number, not '22.0'"),
    "moved": ({"start": "21"}, "has changed; pool again"),
    "other query": ({"query_id": "r"}, "has changed; pool again"),
    "digest": ({"digest": ""}, "has changed; pool again"),
    "word": ({"grade": "good"}, "whole number from 0 to 3, not 'good'"),
    "fraction": ({"grade": "1.5"}, "whole number from 0 to 3"),
    "negative": ({"grade": "-1"}, "whole number from 0 to 3"),
    "beyond": ({"grade": "4"}, "whole number from 0 to 3"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_row_is_named_and_nothing_is_written(tiny, tmp_path, case):
    cells, words = WRONG[case]
    table = write_table(tmp_path / "t.csv", {APT: "1", pair("r", "Use apt."): "1"}, **cells)
    before = read_folder(tiny)
    result = call(table)
    assert (result.exit_code, result.stdout) == (2, "")
    problem, last = result.stderr.splitlines()
    assert problem.startswith(f"{table}:2: error: ")
    assert words in problem
    assert last == f"assay: {table}: 1 row is wrong; nothing was written"
    assert read_folder(tiny) == before


def test_a_heading_alone_is_no_answer(tiny, tmp_path):
    """As `dataset check` has it. Not relevant it may be, and relevant with text below it."""
    heading, before = pair("r", "# Guide"), read_folder(tiny)
    result = call(write_table(tmp_path / "t.csv", {heading: "1"}))
    told = '"guide.md" from 0 to 7 is a heading alone, so the text below it would not count'
    assert (result.exit_code, told in result.stderr) == (2, True)
    assert read_folder(tiny) == before
    whole = pair("r", "# Guide\n\nInstall it.")
    done = call(write_table(tmp_path / "t.csv", {heading: "0", whole: "1"}))
    assert done.exit_code == 0, done.output
    assert not check(find_card("tiny"))


def test_what_changed_meanwhile_is_not_covered_up_by_sealing(tiny, tmp_path, monkeypatch):
    table = write_table(tmp_path / "t.csv", {APT: "1"})

    def fail(card):
        raise AssayError("cannot be sealed")

    before = read_folder(tiny)
    with monkeypatch.context() as patch:
        patch.setattr("assay.eval.collections.authoring.labelling.seal", fail)
        assert isinstance(call(table).exception, AssayError)
    assert read_folder(tiny) == before
    (tiny / "docs" / "other.md").write_text("# Other\n\nText.\n")
    before = read_folder(tiny)
    assert re.search("the card says 1, there are 2|SHA-256", str(call(table).exception))
    assert read_folder(tiny) == before
    (tiny / "docs" / "guide.md").write_text(GUIDE.replace("Use apt.", "Use dnf."))
    result = call(table)
    assert result.exit_code == 2
    assert "now 'Use dnf.', is not what was to be judged" in result.stderr


def test_two_grades_of_one_pair(tiny, tmp_path):
    """In the table, and against the collection; both are told at once."""
    once = write_table(tmp_path / "a.csv", {APT: "1", pair("q", "Install it."): "2"})
    twice = tmp_path / "b.csv"
    lines = once.read_text().splitlines(keepends=True)
    twice.write_text("".join([*lines, lines[1].replace(",1,,", ",2,,"), lines[1]]))
    result = call(twice, "--json")
    assert result.exit_code == 2
    problems = json.loads(result.stdout)["problems"]
    assert [item["line"] for item in problems] == [3, 4]
    assert "has grade 2 here and 3 in the collection" in problems[0]["message"]
    assert "grade 2 here and 1 in line 2" in problems[1]["message"]


def test_collections_that_are_not_ones_own_need_an_output(tiny, tmp_path, monkeypatch):
    table = write_table(tmp_path / "t.csv", {APT: "1"}, named=str(tiny))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    before = read_folder(tiny)
    result = call(table)
    assert "outside the current folder; say --output" in str(result.exception)
    assert read_folder(tiny) == before
    # A card below this folder, whose data lies elsewhere.
    monkeypatch.setenv("SHARED", str(tiny))
    (elsewhere / "dataset.yaml").write_text(f"{CARD}location: $SHARED\n")
    result = call(table, "--collection", elsewhere)
    assert "not in its own folder; say --output" in str(result.exception)
    assert read_folder(tiny) == before
    assert call(table, "--collection", elsewhere, "--output", "copy").exit_code == 0
    assert len(read_grades(str(elsewhere / "copy"))["q"]) == 2
    assert read_folder(tiny) == before


def test_the_collection_must_be_named_once_and_a_higher_grade_is_allowed(tiny, tmp_path):
    table = write_table(tmp_path / "t.csv", {APT: "1", pair("r", "Use apt."): "1"}, collection="x")
    assert "names tiny, x" in str(call(table).exception)
    table = write_table(tmp_path / "t.csv", {APT: "4"}, collection="")
    assert "say --collection NAME" in str(call(table).exception)
    assert call(table, "--collection", "tiny", "--highest", "4").exit_code == 0


# Copies


def test_a_copy_in_the_native_format(tiny, tmp_path):
    before = read_folder(tiny)
    table = write_table(tmp_path / "t.csv", {APT: "1"})
    result = call(table, "--output", "out/copy", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["files"] == ["out/copy/judgments.jsonl"]
    assert read_folder(tiny) == before
    card = read_card(Path("out/copy/dataset.yaml"))
    assert (card.name, card.licence, card.source) == (
        "copy", "CC0", "Me; judgments added from t.csv",
    )  # fmt: skip
    assert not check(card)
    assert read_grades("out/copy")["q"] == {
        f"guide.md[{spot(text)[0]}:{spot(text)[1]}]": grade
        for text, grade in (("Install it.", 3), ("Use apt.", 1))
    }
    assert load("out/copy").documents == load("tiny").documents
    assert "is there already" in str(call(table, "--output", "out/copy").exception)
    assert sorted(path.name for path in Path("out").iterdir()) == ["copy"]


def test_documents_that_lie_elsewhere_are_copied_too(tiny, tmp_path):
    (tmp_path / "mine").mkdir()
    (tiny / "docs" / "guide.md").rename(tmp_path / "mine" / "guide.md")
    (tiny / "docs").rmdir()
    (tiny / "dataset.yaml").write_text(f"{CARD}documents: ../../mine\n")
    table = write_table(tmp_path / "t.csv", {APT: "1"})
    assert call(table, "--output", "copy").exit_code == 0
    assert (tmp_path / "copy" / "mine" / "guide.md").read_text() == GUIDE
    assert not check(find_card("./copy"))


def test_judgments_of_anchors_become_spans_in_a_copy(tiny, tmp_path):
    start, end = spot("Install it.")
    where = {"path": "guide.md", "start": start, "end": end}
    write_jsonl(tiny / "anchors.jsonl", {"_id": "install", "metadata": where})
    lines = ["query-id\tcorpus-id\tscore", "q\tinstall\t3", "r\tinstall\t1"]
    (tiny / "qrels.tsv").write_text("\n".join(lines))
    card = f"{CARD}anchors: anchors.jsonl\njudgments: {{test: qrels.tsv}}\n"
    (tiny / "dataset.yaml").write_text(card)
    before = read_grades("tiny")
    table = write_table(tmp_path / "t.csv", {APT: "2"})
    assert "cannot hold spans; say --output" in str(call(table).exception)
    assert call(table, "--output", "copy").exit_code == 0
    low, high = spot("Use apt.")
    assert read_grades("./copy") == {**before, "q": {**before["q"], f"guide.md[{low}:{high}]": 2}}
    assert not [problem for problem in check(find_card("./copy")) if problem.severity == "error"]


def make_beir(folder):
    corpus = ({"_id": f"p{i}", "title": "T", "text": f" passage {i} "} for i in range(3))
    write_jsonl(folder / "corpus.jsonl", *corpus)
    write_jsonl(folder / "queries.jsonl", {"_id": "q", "text": "which"})
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tp0\t1\n")
    return "qrels/test.tsv"


def test_collections_of_passages_are_copied_in_their_own_format(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    qrels = make_beir(tmp_path / "set")
    passage = Pair("q", "which", "", "p1", "T", 1, 10, "passage 1")
    part = Pair("q", "which", "", "p2", "T", 1, 8, "passage")
    table = write_table(tmp_path / "t.csv", {passage: "1", part: ""}, named="./set")
    before = read_folder(tmp_path / "set")
    assert "in the format" in str(call(table).exception)
    result = call(table, "--output", "copy")
    assert result.exit_code == 0, result.output
    assert f"copy/{qrels}" in result.output
    assert read_grades("./copy") == {"q": {"p0": 1, "p1": 1}}
    assert load("./copy").documents == load("./set").documents
    assert not check(find_card("./copy"))
    assert read_folder(tmp_path / "set") == before
    table = write_table(tmp_path / "t.csv", {part: "0"}, named="./set")
    result = call(table, "--output", "other")
    assert result.exit_code == 2
    assert "is no passage of this collection" in result.stderr
    assert not (tmp_path / "other").exists()
