"""Stale results: what a search shows of documents as they were before an edit."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from assay.eval.collections.collection import Collection
from assay.retrievers.base import AssayError, Chunk, Document, Retriever


@dataclass(frozen=True, slots=True)
class JudgedSnippet:
    """A judged piece of text that an edit takes out of its document; `query` asks for it."""

    doc_id: str
    start: int
    end: int
    text: str
    query: str


@dataclass(frozen=True, slots=True)
class Staleness:
    """How many results were stale, of all the `results` of so many `searches`.

    `found` of the `cuts` had been found before the edit: the others could not have become stale.
    """

    stale: int
    results: int
    searches: int
    found: int
    cuts: int


def count_stale(
    build: Callable[[], AbstractContextManager[Retriever]], collection: Collection, depth: int
) -> Staleness:
    """Edit the documents of `collection`, ingest them again, and count stale results.

    Each document loses one judged piece of text; the last is withdrawn. Searched are that text
    and the query it answers, by the retriever that indexed the documents before, and by a new one
    that finds their caches. A result is stale when its document does not hold its text at its
    place. Raises AssayError when the collection prescribes passages, or judges no piece of text.
    """
    if collection.passages:
        raise AssayError(f"{collection.name}: prescribes its passages, so that no text can change")
    cuts = _choose(collection)
    if not cuts:
        raise AssayError(f"{collection.name}: judges no part of a document that could be cut out")
    edited = _edit(collection.documents, cuts)
    present = {document.id: document.text for document in edited}
    asked = [text for cut in cuts for text in (cut.query, cut.text)]
    with build() as retriever:
        retriever.index(collection.documents)
        before = {text: _search(retriever, [text], depth) for text in asked}
        retriever.index(edited)
        results = [_search(retriever, asked, depth)]
    with build() as retriever:
        retriever.index(edited)
        results.append(_search(retriever, asked, depth))
    shown = [chunk for chunks in results for chunk in chunks]
    stale = sum(
        present.get(chunk.doc_id, "")[chunk.start : chunk.end] != chunk.text for chunk in shown
    )
    found = sum(
        any(
            chunk.doc_id == cut.doc_id and chunk.start < cut.end and cut.start < chunk.end
            for chunk in before[cut.text]
        )
        for cut in cuts
    )
    return Staleness(stale, len(shown), 2 * len(asked), found, len(cuts))


def _choose(collection: Collection) -> list[JudgedSnippet]:
    """Return one cut a document: the first relevant piece of it, shorter than the whole."""
    texts = collection.texts
    queries = {query.id: query.text for query in collection.queries}
    cuts: dict[str, JudgedSnippet] = {}
    for items in collection.gold.values():
        for item in items:
            text = texts.get(item.doc_id, "")
            piece = text[item.start : item.end]
            if item.grade > 0 and item.doc_id not in cuts and 0 < len(piece) < len(text):
                query = queries[item.query_id]
                cuts[item.doc_id] = JudgedSnippet(item.doc_id, item.start, item.end, piece, query)
    return list(cuts.values())


def _edit(documents: Sequence[Document], cuts: Sequence[JudgedSnippet]) -> list[Document]:
    by_document = {cut.doc_id: cut for cut in cuts}
    edited = []
    for document in documents:
        cut = by_document.get(document.id)
        if cut:
            text = document.text[: cut.start] + document.text[cut.end :]
            document = replace(document, text=text, contexts=())
        edited.append(document)
    withdrawn = cuts[-1].doc_id
    return [document for document in edited if document.id != withdrawn]


def _search(retriever: Retriever, asked: Sequence[str], depth: int) -> list[Chunk]:
    return [hit.chunk for text in asked for hit in retriever.search(text, depth).hits]
