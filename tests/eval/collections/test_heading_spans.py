"""A relevant span that is a heading alone is found, and how far it is to be extended."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.collection_folders import write_native, write_rows

from assay.eval.collections.answer_spans import find_text_end
from assay.eval.collections.authoring.questions import Question
from assay.eval.collections.authoring.span_location import locate
from assay.eval.collections.catalog import read_card
from assay.eval.collections.check import check
from assay.retrievers.base import Document
from assay.retrievers.base.markdown import find_headings, line_starts, read_headings, tokenize

TEXT = """\
---
title: Limits
---
# Limits

## Tenants

### Requests

600 a minute.

Per client.

### Empty

## Devices

```
# not a heading
```
"""


def extend(start, end):
    """Return the text of the span from `start` to `end` once extended; None where it is left."""
    begin, stop = TEXT.index(start), TEXT.index(end) + len(end)
    found = find_text_end(TEXT, begin, stop)
    return None if found is None else TEXT[begin:found]


@pytest.mark.parametrize(
    ("start", "end", "extended_to"),
    [
        ("### Requests", "### Requests", "Per client."),
        ("### Requests", "### Requests\n\n", "Per client."),
        # A heading without text of its own: the first text in its section.
        ("## Tenants", "## Tenants", "Per client."),
        ("# Limits", "# Limits", "Per client."),
        # Headings in a row are as one.
        ("## Tenants", "### Requests", "Per client."),
        ("## Devices", "## Devices", "```"),
    ],
)
def test_a_heading_alone_is_extended_to_the_end_of_its_text(start, end, extended_to):
    extended = extend(start, end)
    assert extended.startswith(start)
    assert extended.endswith(extended_to)
    assert "## Devices" not in extended[len(start) :]


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("### Requests", "600 a minute."),
        ("600 a minute.", "600 a minute."),
        ("title: Limits", "# Limits"),
        # No text is below it in its section: the next text belongs to another.
        ("### Empty", "### Empty"),
        # Words of a heading: a name that stands there, as look-ups mean it.
        ("Requests", "Requests"),
        ("### Req", "### Req"),
        # In a block of code nothing is a heading.
        ("# not a heading", "# not a heading"),
    ],
)
def test_anything_else_is_left(start, end):
    assert extend(start, end) is None


LINES = st.lists(
    st.sampled_from(["# A", "## B", "### C", "", "Text.", "- item", "| a |", "Setext\n---"]),
    max_size=12,
)


@given(LINES)
def test_every_heading_with_text_below_is_found_and_what_is_extended_is_left(lines):
    text = "\n\n".join(lines)
    headings = read_headings(text)
    for heading in headings:
        line = text[heading.start : heading.body].rstrip()
        below = text[heading.body : heading.end]
        for other in headings:
            if heading.body <= other.start < heading.end:
                below = below.replace(text[other.start : other.body], "", 1)
        end = find_text_end(text, heading.start, heading.start + len(line))
        assert (end is not None) == bool(below.strip())
        if end is not None:
            assert heading.body < end <= heading.end
            assert find_text_end(text, heading.start, end) is None


def test_the_check_refuses_such_a_span_and_names_it(tmp_path):
    start = TEXT.index("### Requests")
    span = {"query_id": "q1", "start": start, "end": start + len("### Requests")}
    rows = [
        span | {"path": "a.md", "start": 0, "grade": 1},  # frontmatter and the headings
        span | {"path": "a.md", "grade": 2},
        span | {"path": "b.txt", "grade": 2},  # in plain text nothing is a heading
        {"query_id": "q1", "path": "a.md", "section": "Empty", "grade": 1},
        {"query_id": "q1", "path": "a.md", "grade": 1},
        {"query_id": "q1", "path": "a.md", "section": "Tenants", "grade": 1},
    ]
    texts = {"a.md": TEXT, "b.txt": f"{TEXT}\nEnd.\n"}
    query = {"_id": "q1", "text": "how many requests"}
    folder = write_native(tmp_path / "limits", texts, [query], rows)
    problem, _ = check(read_card(folder / "dataset.yaml"))  # a note on frontmatter follows
    end = TEXT.index("Per client.") + len("Per client.")
    assert str(problem) == (
        f'{folder}/judgments.jsonl:2: error: query "q1": the relevant span {start} to '
        f'{start + 12} of "a.md" is a heading alone, so the text below it does not count as an '
        f"answer; extend the span to {end}, where that text ends, or remove it"
    )
    rows[1]["grade"] = 0  # not relevant: nothing is lost
    write_rows(folder / "judgments.jsonl", rows)
    assert [item.severity for item in check(read_card(folder / "dataset.yaml"))] == ["note"]


def test_a_question_that_quotes_a_heading_alone_is_not_located():
    questions = [
        Question(line, "how many requests", quote, grade=grade)
        for line, (quote, grade) in enumerate(
            (("### Requests", ""), ("Requests", "2"), ("### Requests", "0"), ("Per client.", ""))
        )
    ]
    documents = {"a.md": Document("a.md", TEXT)}
    judged = locate(questions[:1], documents)
    assert not judged.queries
    (missed,) = judged.unlocated
    assert missed.why == (
        "the quote is a heading alone, so the text below it would not count as an answer; "
        "quote that text"
    )
    assert [item.question.line for item in locate(questions, documents).unlocated] == [0]
    assert not locate(questions[:1], {"a.txt": Document("a.txt", TEXT)}).unlocated


MARKUP = st.lists(
    st.sampled_from(
        ["# A *b*", "## [B][r] `c`", "[r]: u 'T'", "> # quoted", "- # item", "```", "a\n===",
         "b **c\nd\n---",
         "<div>", "| a |\n|-|\n| # b |", "### ![i](u) [[w|x]]", "\\# no", "# \\*d\\* &amp;", ""]
    ),
    max_size=10,
)  # fmt: skip


@given(MARKUP, st.sampled_from(["\n", "\n\n", "\r\n"]))
def test_headings_are_those_of_the_whole_document_read(lines, between):
    text = between.join(lines)
    whole = find_headings(tokenize(text), line_starts(text, 0))
    assert list(read_headings(text)) == whole
