"""Look-ups derived from documents: each kind by hand, what is ambiguous, and duplicates."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.eval.collections.authoring.known_item_collections import edit, plant
from assay.eval.collections.authoring.known_item_queries import (
    TYPES,
    LookupSet,
    derive,
    read_keywords,
)
from assay.eval.collections.formats.native import make_document
from assay.retrievers.base import AssayError, Document
from assay.retrievers.base.frontmatter import frontmatter_end
from assay.retrievers.base.markdown import read_headings
from assay.retrievers.base.quotes import QuoteSpan

GUIDE = """---
title: Setup Guide
keywords: [install, getAuthToken]
---
# Setup

Authentication comes first. Authentication needs `getAuthToken`, not `max_retries`.

## Tokens

    getAuthToken()

## Notes
### Tokens of old
A McDonald is no identifier in code.
"""
ADMIN = """# Admin

Call `max_retries`, `MAX_RETRIES` and the client.getAuthToken (but not getAuthTokens).

## Notes
Nothing.
"""


def library(**texts: str) -> dict[str, Document]:
    return {f"{name}.md": make_document(f"{name}.md", text) for name, text in texts.items()}


def ask(
    documents: Mapping[str, Document], type_: str, origins: Mapping[str, str] | None = None
) -> dict[str, list[str]]:
    """Return each query of a type with what it is answered by: documents, or their text."""
    derived = derive(documents, origins or {}, [type_])
    return {
        lookup.text: [show(place, documents) for place in lookup.places]
        for lookup in derived.lookups
    }


def show(place: QuoteSpan, documents: Mapping[str, Document]) -> str:
    text = documents[place.doc_id].text
    whole = (place.start, place.end) == (0, len(text))
    return place.doc_id if whole else f"{place.doc_id}: {text[place.start : place.end]}"


def test_titles_name_themselves_or_are_no_query() -> None:
    documents = library(guide=GUIDE, admin=ADMIN, plain="No heading.")
    assert ask(documents, "title") == {"Admin": ["admin.md"], "Setup Guide": ["guide.md"]}


def test_a_title_of_two_documents_is_ambiguous() -> None:
    derived = derive(library(a="# Same\n", b="#  same\n", c="# Other\n"), {}, ["title"])
    assert [lookup.text for lookup in derived.lookups] == ["Other"]
    assert derived.ambiguous == {"title": 2}


def test_a_heading_is_answered_by_its_section() -> None:
    found = ask(library(guide=GUIDE, admin=ADMIN), "heading")
    assert list(found) == ["Setup", "Tokens", "Tokens of old"]  # Admin is a title, Notes is twice
    assert found["Tokens"] == ["guide.md: ## Tokens\n\n    getAuthToken()"]
    assert found["Setup"][0].endswith("no identifier in code.")


def test_an_identifier_for_a_heading_is_asked_as_an_identifier() -> None:
    documents = library(api="# API\n\n## getUser\nCall `getUser`.\n")
    assert ask(documents, "heading") == {}
    assert ask(documents, "identifier") == {"getUser": ["api.md: getUser"] * 2}


def test_keywords_are_asked_together() -> None:
    more = "---\nkeywords: install, GETauthtoken, linux\n---\nMore.\n"
    assert ask(library(guide=GUIDE, more=more), "keyword") == {
        "install getAuthToken": ["guide.md", "more.md"],
        "install GETauthtoken linux": ["more.md"],
    }


@pytest.mark.parametrize("keywords", ["{a: b}", "7", "[]", "' , '"])
def test_what_is_no_list_of_keywords(keywords: str) -> None:
    assert read_keywords(make_document("a.md", f"---\nkeywords: {keywords}\n---\n")) == []


def test_an_identifier_is_answered_wherever_it_stands_but_in_frontmatter() -> None:
    documents = library(guide=GUIDE, admin=ADMIN)
    found = derive(documents, {}, ["identifier"])
    # max_retries differs from MAX_RETRIES by capitals alone.
    assert [lookup.text for lookup in found.lookups] == ["getAuthToken"]
    assert found.ambiguous == {"identifier": 2}
    places = found.lookups[0].places
    assert [place.doc_id for place in places] == ["admin.md", "guide.md", "guide.md"]
    assert all(i.start > frontmatter_end(documents[i.doc_id].text) for i in places)


def test_an_identifier_in_many_documents_is_not_distinctive() -> None:
    texts = {name: f"# {name}\n`get_user`" for name in "abcd"}
    assert ask(library(**texts), "identifier") == {}
    del texts["d"]
    assert len(ask(library(**texts), "identifier")["get_user"]) == 3


def test_a_word_is_cut_to_what_begins_no_other_documents_words() -> None:
    documents = library(guide=GUIDE, admin=ADMIN)
    assert ask(documents, "truncated") == {"auth": ["guide.md: Authentication"] * 2}
    documents |= library(author="The authors.")
    assert ask(documents, "truncated") == {"authe": ["guide.md: Authentication"] * 2}
    documents |= library(author="The authenticity.")  # begins the same for more than half
    assert ask(documents, "truncated") == {}


def test_a_cut_that_is_a_word_is_lengthened() -> None:
    assert list(ask(library(a="Calibration. Calibration. A cali."), "truncated")) == ["calib"]


def test_copies_answer_and_make_nothing_ambiguous() -> None:
    documents = library(guide=GUIDE, admin=ADMIN) | {"c/guide.md": make_document("c", GUIDE)}
    documents["c/guide.md"] = make_document("c/guide.md", GUIDE)
    origins = {"c/guide.md": "guide.md"}
    assert ask(documents, "title", origins)["Setup Guide"] == ["c/guide.md", "guide.md"]
    assert len(ask(documents, "heading", origins)["Tokens"]) == 2
    assert ask(documents, "truncated", origins) == {
        "auth": ["c/guide.md: Authentication"] * 2 + ["guide.md: Authentication"] * 2
    }
    assert "Notes" not in ask(documents, "heading", origins)


def test_a_text_is_asked_once() -> None:
    documents = library(a="# A\n`getUser`\n", b="---\ntitle: GetUser\n---\n")
    derived = derive(documents, {}, ["title", "identifier"])
    assert [(lookup.type, lookup.text) for lookup in derived.lookups] == [
        ("title", "A"), ("title", "GetUser"),
    ]  # fmt: skip
    assert derived.ambiguous == {"identifier": 1}


@given(st.dictionaries(st.sampled_from("abcdef"), st.text("# ab\nAB_`-:x", max_size=60)))
def test_queries_do_not_depend_on_the_order_of_documents(texts: dict[str, str]) -> None:
    documents = library(**texts)
    derived = derive(documents, {}, TYPES)
    assert derive(dict(reversed(documents.items())), {}, TYPES) == derived
    assert isinstance(derived, LookupSet)
    keys = [" ".join(lookup.text.casefold().split()) for lookup in derived.lookups]
    assert len(set(keys)) == len(keys)
    for lookup in derived.lookups:
        assert lookup.places
        assert all(0 <= i.start < i.end <= len(documents[i.doc_id].text) for i in lookup.places)


LONG = "one two three four five six seven eight nine ten eleven twelve"


def test_an_edit_swaps_two_words_of_each_long_line_of_prose() -> None:
    text = (
        f"---\nd: {LONG}\n---\n# {LONG}\n{LONG}\n```\n{LONG}\n```\n    {LONG}\n| {LONG}\nShort.\n"
    )
    edited = edit(text)
    assert edited == edit(text)
    changed = [
        (old, new)
        for old, new in zip(text.splitlines(), edited.splitlines(), strict=True)
        if old != new
    ]
    assert len(changed) == 1
    old, new = (line.split() for line in changed[0])
    moved = [i for i, (one, other) in enumerate(zip(old, new, strict=True)) if one != other]
    assert moved == [moved[0], moved[0] + 1]
    assert sorted(old) == sorted(new)


def test_names_are_not_edited() -> None:
    line = "`run this code now` or A.b c-d 1 2 3 4 5 6 7 8 9 [x](y z) 'a b'\n"
    assert edit(line) == line


@given(st.text("ab `#|\n-.", max_size=200))
def test_an_edit_keeps_lengths_and_headings(text: str) -> None:
    edited = edit(text)
    assert [len(line) for line in edited.split("\n")] == [len(line) for line in text.split("\n")]
    assert read_headings(edited) == read_headings(text)


def test_every_third_document_is_copied_and_every_third_edited() -> None:
    planted = plant({f"{name}.md": LONG for name in "abcde"})
    assert {id_: origin for id_, (origin, _) in planted.items()} == {
        "copies/exact/a.md": "a.md",
        "copies/edited/b.md": "b.md",
        "copies/exact/d.md": "d.md",
        "copies/edited/e.md": "e.md",
    }
    assert planted["copies/exact/a.md"][1] == LONG != planted["copies/edited/b.md"][1]


def test_a_document_is_not_replaced_by_a_copy() -> None:
    with pytest.raises(AssayError, match=r"copies/exact/a\.md: is there already"):
        plant({"a.md": "", "copies/exact/a.md": ""})
