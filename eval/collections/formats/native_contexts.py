"""Contexts of places in documents, kept in a file beside them."""

from array import array
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from assay.eval.collections.collection import DocumentShelf
from assay.eval.collections.formats.mapped import JSON_LINES, MappedRows
from assay.eval.collections.formats.places import find_document, read_span
from assay.eval.collections.formats.reading import read_jsonl
from assay.eval.collections.formats.rows import Row
from assay.eval.collections.problems import Problems
from assay.retrievers.base import Context, Document
from assay.retrievers.store.lazy_sequence import ById, IdSequence


def add_contexts(
    documents: Mapping[str, Document], path: Path, problems: Problems
) -> Mapping[str, Document]:
    """Return `documents` with the contexts in the file at `path`.

    Where documents stay in their files, so do contexts.
    """
    if isinstance(documents, ById):
        shelf = _shelve(documents, path, problems)
        return ById(shelf, shelf.__getitem__)
    contexts: dict[str, list[Context]] = {}
    for row in read_jsonl(path, problems):
        with problems.of(row):
            document = find_document(row, documents)
            contexts.setdefault(document.id, []).append(_read_context(row, document))
    return {
        name: replace(document, contexts=tuple(contexts.get(name, ())))
        for name, document in documents.items()
    }


def _shelve(documents: ById[Document], path: Path, problems: Problems) -> DocumentShelf:
    import numpy as np

    bare: IdSequence[Document] = documents.shelf
    rows, places = MappedRows(problems), array("i")
    for row, start, end in rows.scan(path, JSON_LINES):
        with problems.of(row):
            document = find_document(row, documents)
            _read_context(row, document)
            rows.keep(row, start, end)
            places.append(bare.find(document.id) or 0)
    order = np.argsort(places, kind="stable").astype(np.int32)
    bounds = np.searchsorted(np.asarray(places)[order], np.arange(len(bare) + 1))

    def take(i: int) -> Document:
        document, own = bare[i], order[bounds[i] : bounds[i + 1]].tolist()
        return replace(document, contexts=tuple(_read_context(rows[row], document) for row in own))

    return DocumentShelf(bare.hashes, take, {})


def _read_context(row: Row, document: Document) -> Context:
    return Context(*read_span(row, document), row.string("context"))
