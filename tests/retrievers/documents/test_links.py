import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.retrievers.documents.references.links import DocumentNames, find_links, slug
from assay.retrievers.documents.structure.structure import parse

IDS = ("guide/setup.md", "guide/index.md", "api/index.md", "api/v2.0 notes.md", "faq.md")
NAMES = DocumentNames(IDS, [("faq.md", "Questions & answers"), ("guide/setup.md", "Installing"),
                    ("guide/index.md", "Overview"), ("api/index.md", "Overview")])  # fmt: skip


@pytest.mark.parametrize(
    ("name", "written_in", "found"),
    [
        ("setup", "faq.md", "guide/setup.md"),
        ("Setup.MD", "faq.md", "guide/setup.md"),
        (" setup ", "faq.md", "guide/setup.md"),
        ("../guide/setup.md", "api/index.md", "guide/setup.md"),
        ("./setup", "guide/index.md", "guide/setup.md"),
        ("/guide/setup.md", "api/index.md", "guide/setup.md"),
        ("v2.0 notes", "faq.md", "api/v2.0 notes.md"),
        ("index", "guide/setup.md", "guide/index.md"),
        ("index", "api/v2.0 notes.md", "api/index.md"),
        ("../api/index.md", "guide/setup.md", "api/index.md"),
        ("api/index", "guide/setup.md", "api/index.md"),
        ("index", "faq.md", None),
        ("questions & Answers", "api/index.md", "faq.md"),
        ("Overview", "faq.md", None),
        ("up", "faq.md", None),
        ("tup.md", "faq.md", None),
        ("", "faq.md", None),
    ],
)
def test_documents_are_found_by_name(name, written_in, found):
    assert NAMES.find(name, written_in) == found


@given(st.text(max_size=30))
def test_any_name_is_looked_up(name):
    assert NAMES.find(name, "faq.md") in (None, *IDS)


def test_anchors_and_where_a_document_is_entered():
    titles = ("4.2 The fee", "What's new?", "a_b – c")
    assert [slug(title) for title in titles] == ["42-the-fee", "whats-new", "a_b--c"]
    structures = {"a.md": parse("[[b]]"), "b.md": parse(HEAD + "Text.")}
    found = find_links(structures, DocumentNames(structures, []))
    (pointer,) = (pointer for pointer in found if pointer.kind != "related")
    assert (pointer.target.start, pointer.target.end) == (len(HEAD), len(HEAD))


HEAD = "---\nrelated: [b, nowhere]\n---\n"
B = "# B\n\nOpening.\n\n## 2.1 The fee\n\nTen euros.\n\n## Refunds\n\nNone.\n"


def read(text):
    """Return (kind, text that points, text it points at) for a document beside b.md."""
    texts = {"a.md": text, "b.md": B}
    structures = {id_: parse(item) for id_, item in texts.items()}

    def show(pointer):
        assert pointer.doc_id == "a.md"
        place = pointer.target
        where = texts[place.doc_id][place.start : place.end] or f"{place.doc_id}@{place.start}"
        return pointer.kind, text[pointer.start : pointer.end].strip(), where.split("\n")[0]

    return [show(pointer) for pointer in find_links(structures, DocumentNames(texts, []))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (HEAD + "x\n", [("related", (HEAD + "x").strip(), "b.md@0")]),
        ("See [[b]].", [("wikilink", "See [[b]].", "b.md@0")]),
        ("See ![[b]].", [("transclusion", "See ![[b]].", "b.md@0")]),
        ("See [[b#Refunds|how]].", [("wikilink", "See [[b#Refunds|how]].", "## Refunds")]),
        ("See [[b#B#Refunds]].", [("wikilink", "See [[b#B#Refunds]].", "## Refunds")]),
        ("See [it](b.md#21-the-fee).", [("link", "See [it](b.md#21-the-fee).", "## 2.1 The fee")]),
        ("See [it](b.md#gone).", [("link", "See [it](b.md#gone).", "b.md@0")]),
        ("# Own\n\nSee [it](#own).", [("link", "See [it](#own).", "# Own")]),
        ("Pay under § 2.1 of [[b]].", [
            ("wikilink", "Pay under § 2.1 of [[b]].", "b.md@0"),
            ("reference", "§ 2.1", "## 2.1 The fee"),
        ]),
        ("See [[nowhere]] and [it](https://b.md) or [mail](mailto:b.md) or [c](//b.md).", []),
        ("See [none](), `[[b]]`.", []),
    ],
)  # fmt: skip
def test_pointers(text, found):
    assert read(text) == found
