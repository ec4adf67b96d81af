"""Collections made of Python objects: mappings, rows or DataFrames instead of files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from re import fullmatch
from typing import Any

from assay.eval.collections.card import NAME, Card
from assay.eval.collections.collection import Collection, GoldItem, Query
from assay.eval.collections.formats.places import resolve_judgment
from assay.eval.collections.formats.rows import PLACES, Row, RowError, describe_unknown, read_grade
from assay.eval.collections.formats.source import (
    AbsentDocuments,
    GoldBook,
    QueryRegister,
    Register,
    restrict_query,
)
from assay.eval.collections.permissions import keep_allowed
from assay.eval.collections.problems import Problems
from assay.eval.collections.tables import DOCUMENTS, JUDGMENTS, QUERIES, Table, read_rows
from assay.retrievers.base import AssayError, Document, Passage
from assay.retrievers.base.quotes import Locator
from assay.retrievers.settings import validate
from assay.retrievers.store.lazy_sequence import IdSequence

IN_MEMORY = "in-memory"


def make_collection(
    documents: Table,
    queries: Table,
    judgments: Table,
    name: str = IN_MEMORY,
    permissions: Mapping[str, Any] | None = None,
) -> Collection:
    """Return the collection of documents, queries and judgments that are here in Python.

    Each is a mapping, a DataFrame, or rows (mappings or named tuples); columns may have the names
    of BEIR, ir_datasets or PyTerrier, and others are passed over.

    `documents`: {id: text}, or {id: {"text": …, "title": …}}.
    `queries`: {id: text}, or {id: {"text": …, "type": …, "group": …}}.
    `judgments`: by query id {document id: grade}, or a list of (document id, grade),
    (document id, start, end), (document id, start, end, grade), document ids and quotes.

    `permissions`: what a card says of `fields`, `readers` and `principals`, for queries that have a
    `filter` or a `principal`; the fields are those of documents' `metadata`.

    Where every judgment is of a whole document, the documents are passages that the collection
    prescribes, as BEIR's are; where one is of a span, pipelines cut the documents themselves.
    Queries without judgments are left out, as where files are loaded. Raises AssayError naming
    the first row that is wrong; rows count from 1.
    """
    if not fullmatch(NAME, name):
        raise AssayError(
            f"name: {name!r} cannot name a collection; allowed: letters, digits, '.', '_' and "
            "'-', a letter or digit first"
        )
    problems = Problems(strict=True)
    described = {"name": name, "title": name, "format": IN_MEMORY, **(permissions or {})}
    card = validate(Card, described, "permissions")
    texts = read_documents(documents)
    asked = QueryRegister(problems)
    for row in read_rows(queries, QUERIES, problems):
        with problems.of(row):
            kind, group = row.string("type", ""), row.string("group", "")
            query = Query(row.string("query_id"), row.string("text"), kind, group=group)
            asked.add_query(row, restrict_query(query, row, card))
    gold = _read_gold(judgments, texts, asked.items, problems)
    if not gold:
        raise AssayError("judgments: there are none; a collection needs at least one")
    if all(item.id == item.doc_id for items in gold.values() for item in items):
        texts = {
            id_: replace(item, passages=(Passage(item.id, 0, len(item.text), item.title),))
            for id_, item in texts.items()
        }
        gold = {
            query: tuple(replace(item, passage_id=item.id) for item in items)
            for query, items in gold.items()
        }
    return Collection(
        name=name,
        title=name,
        documents=tuple(texts.values()),
        queries=tuple(query for query in asked.items.values() if query.id in gold),
        gold={
            id_: keep_allowed(card, query, gold[id_], texts)
            for id_, query in asked.items.items()
            if id_ in gold
        },
        card=card,
    )


def read_documents(documents: Table) -> dict[str, Document]:
    """Return documents by id, in their order; `make_collection` says what may be given.

    Raises AssayError where there are none, and for the first that is wrong.
    """
    problems = Problems(strict=True)
    register: Register[Document] = Register("document", problems)
    for row in read_rows(documents, DOCUMENTS, problems):
        with problems.of(row):
            document = Document(
                row.string("doc_id"),
                row.string("text"),
                row.string("title", ""),
                metadata=row.mapping("metadata"),
            )
            if not f"{document.title}{document.text}".strip():
                raise RowError(f'document "{document.id}" has no text')
            register.add(row, document.id, document.text, document)
    if not register.items:
        raise AssayError("documents: there are none; a collection needs at least one")
    return register.items


def make_unjudged(documents: Table, name: str = IN_MEMORY) -> Collection:
    """Return a collection that can be searched and not judged. Raises AssayError."""
    return gather_unjudged(tuple(read_documents(documents).values()), name)


def gather_unjudged(documents: Sequence[Document], name: str) -> Collection:
    """Return a collection of `documents` that can be searched and not judged."""
    card = Card(name=name, title=name, format=IN_MEMORY)
    held = documents if isinstance(documents, IdSequence) else tuple(documents)
    return Collection(name, name, held, (), {}, card)


def _read_gold(
    judgments: Table,
    documents: Mapping[str, Document],
    queries: Mapping[str, Query],
    problems: Problems,
) -> dict[str, tuple[GoldItem, ...]]:
    locator = Locator(documents)
    book = GoldBook(queries, 1, problems)
    absent = AbsentDocuments(documents, problems)
    for row in read_rows(judgments, JUDGMENTS, problems):
        with problems.of(row):
            name = row.string("path", "")
            if name and name not in documents and not {"quote", *PLACES} & row.values.keys():
                place = absent.note(row, name)
                item = GoldItem(row.string("query_id"), name, *place, read_grade(row))
            else:
                item = resolve_judgment(_locate(row, documents, locator), documents)
            book.add(row, item)
            absent.judged += 1
    absent.tell()
    return {query: tuple(items.values()) for query, items in book.items.items()}


def _locate(row: Row, documents: Mapping[str, Document], locator: Locator) -> Row:
    """Return a judgment with the document, and the span where it gives a quote."""
    if not row.has("quote") and not row.has("target"):
        return row
    quote = row.string("quote" if row.has("quote") else "target")
    if row.has("target") and quote in documents:
        return replace(row, values={**row.values, "path": quote})
    if row.has("path") and row.string("path") not in documents:
        raise RowError(describe_unknown("document", row.string("path"), documents))
    places = locator.find(quote, [row.string("path")] if row.has("path") else ())
    if not places:
        raise RowError(f'"{_shorten(quote)}" is neither a document nor found in any')
    if len(places) > 1:
        where = ", ".join(f"{i.doc_id} {i.start}–{i.end}" for i in places[:3])
        raise RowError(
            f'"{_shorten(quote)}" stands in {len(places)} places ({where}); give a longer quote, '
            "or document, start and end"
        )
    (place,) = places
    span = {"path": place.doc_id, "start": place.start, "end": place.end}
    return replace(row, values={**row.values, **span})


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
