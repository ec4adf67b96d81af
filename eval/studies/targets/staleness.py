"""Stale results: search results with the text of documents before an edit."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from assay.eval.collections.collection import Collection, GoldItem
from assay.retrievers.base import AssayError, Chunk, Document, Retriever


@dataclass(frozen=True, slots=True)
class Staleness:
    """The number of stale results.

    Attributes:
        stale: The number of stale results.
        results: The number of all results.
        searches: The number of searches.
        found: The number of cut pieces that were found before the edit; only these can be stale.
        cuts: The number of cut pieces.
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

    Each document with a judged part loses that piece of text; the last is withdrawn. The searches
    are for the pieces and for the queries that they answer, in the retriever that indexed the
    documents before, and in a new one that finds their caches. A result is stale if its document
    does not contain its text at its place. Raises AssayError if the collection prescribes passages,
    or judges no part of a document.
    """
    if collection.passages:
        raise AssayError(f"{collection.name}: prescribes its passages, so that no text can change")
    texts = collection.texts
    cuts = _choose(collection.gold, texts)
    if not cuts:
        raise AssayError(f"{collection.name}: judges no part of a document that could be cut out")
    edited = _edit(collection.documents, cuts)
    present = {document.id: document.text for document in edited}
    queries = {query.id: query.text for query in collection.queries}
    pieces = [texts[cut.doc_id][cut.start : cut.end] for cut in cuts]
    asked = [queries[cut.query_id] for cut in cuts] + pieces
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
            for chunk in before[piece]
        )
        for cut, piece in zip(cuts, pieces, strict=True)
    )
    return Staleness(stale, len(shown), 2 * len(asked), found, len(cuts))


def _choose(gold: Mapping[str, Sequence[GoldItem]], texts: Mapping[str, str]) -> list[GoldItem]:
    """Return the piece to cut out of each document: its first relevant part."""
    cuts: dict[str, GoldItem] = {}
    for items in gold.values():
        for item in items:
            text = texts.get(item.doc_id, "")
            if item.grade > 0 and 0 < len(text[item.start : item.end]) < len(text):
                cuts.setdefault(item.doc_id, item)
    return list(cuts.values())


def _edit(documents: Sequence[Document], cuts: Sequence[GoldItem]) -> list[Document]:
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
