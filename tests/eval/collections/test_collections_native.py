"""The native form: documents as they are, judged spans, sections and whole documents."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.eval.collections.loading import load
from assay.retrievers.base import AssayError, Context
from assay.retrievers.base.frontmatter import read_frontmatter
from assay.retrievers.base.markdown import find_title, read_headings

GUIDE = """\
---
title: The guide
date: 2026-01-02
tags: [a, b]
---
# Guide

Intro.

## Set *up* `now`

Install it.

### Linux

Use apt.

## Limits

Ten a day.
"""
INTRO = GUIDE.index("Intro.")


def write_jsonl(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def native(tmp_path):
    (tmp_path / "docs/sub").mkdir(parents=True)
    (tmp_path / "docs/guide.md").write_text(GUIDE, encoding="utf-8")
    (tmp_path / "docs/sub/plain.txt").write_bytes(b"One line.\r\nAnother, caf\xc3\xa9.\r\n")
    (tmp_path / "docs/.hidden.md").write_text("# no")
    (tmp_path / "docs/picture.png").write_bytes(b"\x89PNG")
    write_jsonl(tmp_path / "queries.jsonl", {"_id": "q", "text": "how to install", "type": "task"})
    write_jsonl(tmp_path / "judgments.jsonl", {"query_id": "q", "path": "guide.md"})
    (tmp_path / "dataset.yaml").write_text(f"name: {tmp_path.name}\ntitle: t\nformat: native\n")
    return tmp_path


def judge(folder, *rows):
    write_jsonl(folder / "judgments.jsonl", *({"query_id": "q", **row} for row in rows))


def test_documents_are_the_files_exactly_and_contexts_lie_on_spans(native):
    documents = load(str(native)).documents
    assert [item.id for item in documents] == ["guide.md", "sub/plain.txt"]
    guide, plain = documents
    assert guide.text == GUIDE
    assert guide.title == "The guide"
    assert guide.metadata["date"] == "2026-01-02"
    assert guide.metadata["tags"] == ["a", "b"]
    assert plain.text == "One line.\r\nAnother, café.\r\n"
    assert (plain.title, plain.passages) == ("plain", ())
    row = {"path": "guide.md", "start": INTRO, "end": INTRO + 6, "context": "How it begins."}
    write_jsonl(native / "contexts.jsonl", row)
    with (native / "dataset.yaml").open("a") as file:
        file.write("contexts: contexts.jsonl\n")
    assert load(str(native)).documents[0].contexts == (Context(INTRO, INTRO + 6, "How it begins."),)


TEN = GUIDE.index("Ten a day.")


@pytest.mark.parametrize(
    ("row", "id_", "begin", "end"),
    [
        ({"start": TEN - 2, "end": TEN + 11, "text": "Ten a day."}, f"[{TEN}:{TEN + 10}]",
         "Ten a day.", "Ten a day."),
        ({"section": "Set up now"}, None, "## Set *up* `now`", "### Linux\n\nUse apt."),
    ],
)  # fmt: skip
def test_a_span_is_taken_without_white_space_and_a_section_to_the_next_of_its_level(
    native, row, id_, begin, end
):
    judge(native, {"path": "guide.md", "grade": 2, **row})
    (item,) = load(str(native)).gold["q"]
    text = GUIDE[item.start : item.end]
    assert text.startswith(begin)
    assert text.endswith(end)
    assert (item.grade, item.passage_id) == (2, "")
    assert id_ is None or item.id == f"guide.md{id_}"


def test_a_later_file_judges_only_what_no_earlier_one_does(native):
    start = GUIDE.index("Use apt.")
    write_jsonl(native / "queries.jsonl", {"_id": "q", "text": "one"}, {"_id": "r", "text": "two"})
    judge(native, {"path": "guide.md", "section": "Limits"})
    (native / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\tapt\t1\nr\tapt\t3\n")
    where = {"path": "guide.md", "start": start, "end": start + 8}
    write_jsonl(native / "anchors.jsonl", {"_id": "apt", "metadata": where})
    with (native / "dataset.yaml").open("a") as file:
        file.write("anchors: anchors.jsonl\njudgments: {test: [judgments.jsonl, qrels.tsv]}\n")
    gold = load(str(native)).gold
    assert [GUIDE[item.start : item.end][:9] for item in gold["q"]] == ["## Limits"]
    assert [(item.id, item.grade) for item in gold["r"]] == [(f"guide.md[{start}:{start + 8}]", 3)]


REFUSED = {
    "range": ({"path": "guide.md", "start": 5, "end": 9999}, "span 5 to 9999 is not within"),
    "order": ({"path": "guide.md", "start": 9, "end": 9}, "span 9 to 9 is not within"),
    "selector": (
        {"path": "guide.md", "selector": [{"type": "RangeSelector"}]},
        "\"selector\" holds 'RangeSelector'; allowed: TextPositionSelector, TextQuoteSelector",
    ),
    "blank": (
        {"path": "guide.md", "start": INTRO + 6, "end": INTRO + 8},
        "nothing but white space",
    ),
    "half": ({"path": "guide.md", "start": 3}, 'key "end" is missing'),
    "section": (
        {"path": "guide.md", "section": "Prices"},
        'has no heading "Prices"; it has: "Guide", "Set up now", "Linux", "Limits"',
    ),
    "plain": ({"path": "sub/plain.txt", "section": "One line."}, "plain text and has no sections"),
    "path": ({"path": "other.md"}, 'there is no document "other.md"'),
    "grade": ({"path": "guide.md", "grade": "2"}, '"grade" must be a whole number, not a string'),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_judgment_that_points_nowhere_is_refused(native, case):
    row, message = REFUSED[case]
    judge(native, {"path": "guide.md"}, row)
    with pytest.raises(AssayError) as caught:
        load(str(native))
    assert str(caught.value).startswith(f"{native / 'judgments.jsonl'}:2: ")
    assert message in str(caught.value)


def test_a_heading_that_stands_twice_is_refused(native):
    (native / "docs/twice.md").write_text("# A\n\n## Notes\n\nx\n\n# B\n\n## Notes\n\ny\n")
    judge(native, {"path": "twice.md", "section": "notes"})
    with pytest.raises(AssayError, match='has the heading "notes" at lines 3, 9'):
        load(str(native))


def test_headings_that_open_a_section_and_where_it_stands():
    text = "# One\n\n```\n# no\n```\n\n> # no\n\n- # no\n\nTwo\n===\n\nx\n"
    assert [section.title for section in read_headings(text)] == ["One", "Two"]
    text = "\ufeff---\r\ntitle: x\r\n---\r\n# A\r\n\r\nx\u2028y\r\n\r\n## B #\r\n\r\nz"
    first, second = read_headings(text)
    assert text[first.start : first.end] == "# A\r\n\r\nx\u2028y\r\n\r\n## B #\r\n\r\nz"
    assert (second.title, text[second.start : second.end]) == ("B", "## B #\r\n\r\nz")


@pytest.mark.parametrize(
    ("path", "text", "title"),
    [
        ("a/b.md", "# One #\n", "One"),
        ("a/b.md", "x\n\n## Two\n\n# Three\n", "Three"),
        ("a/b.md", "\ufeffThe *first* `call`\n===\n", "The first call"),
        ("a/b.md", "```sh\n# comment\n```\n# Real\n", "Real"),
        ("a/b.md", "---\nauthor: x\n---\n# After\n", "After"),
        ("a/b.md", "---\ntitle: '  '\n---\nno heading\n", "b"),
        ("a/b.txt", "# not markdown\n", "b"),
        ("a/b.md", "---\ntitle: [broken\n---\n# Then\n", "Then"),
    ],
)
def test_titles(path, text, title):
    assert find_title(path, text, read_frontmatter(text).metadata) == title


LINES = st.sampled_from(
    ["# A", "## B", "### C", "text", "", "```", "> # q", "    # code", "B\n---"]
)


@given(st.lists(LINES, max_size=12).map("\n".join))
def test_sections_nest_and_start_at_headings(text):
    sections = read_headings(text)
    assert [item.start for item in sections] == sorted({item.start for item in sections})
    for section in sections:
        words = text[section.start : section.end].lstrip("# ").split()
        assert words[: len(section.title.split())] == section.title.split()
        inside = [item for item in sections if section.start < item.start < section.end]
        assert all(item.level > section.level and item.end <= section.end for item in inside)
