"""Retrieval on documents as a converter reads them anew from the files that they were made of.

What is found is placed in the documents as they were given, so that pipelines with different
converters are judged on the same text.
"""

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import fsum
from pathlib import Path
from typing import Any

from assay.retrievers.base import (
    AssayError,
    Chunk,
    Definition,
    Document,
    IndexReport,
    MetadataFilter,
    Ranking,
    Retriever,
)
from assay.retrievers.base.frontmatter import read_frontmatter
from assay.retrievers.base.markdown import find_title
from assay.retrievers.documents.conversion.alignment import Alignment
from assay.retrievers.documents.conversion.conversion import ConvertedText
from assay.retrievers.documents.conversion.converters import AnyConverter, identify
from assay.retrievers.documents.conversion.folder import SkippedFile, convert_all
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest


def convert_anew(
    documents: Sequence[Document], converter: AnyConverter, resources: Resources
) -> tuple[list[Document], list[ConvertedText]]:
    """Return `documents` as `converter` reads the files that they were made of, and what it gave.

    Those of no file stay as they are. Those whose file gives no text are named and left out.
    Raises AssayError where none was made of a file.
    """
    files = {item.origin: item for item in documents if item.origin}
    if not files:
        raise AssayError(
            "documents.converter: the collection does not have the files that its documents were "
            "made of; its card can name their folder by `originals`"
        )
    results = dict(convert_all(Path(), list(files), resources, converter))
    read, found = [], []
    for document in documents:
        result = results.get(document.origin)
        if isinstance(result, SkippedFile):
            resources.progress.say(f"warning: {result}; the document is left out")
        elif result is None:
            read.append(document)
        else:
            read.append(_make_document(document, result.text))
            found.append(result)
    return read, found


def _make_document(given: Document, text: str) -> Document:
    metadata = read_frontmatter(text).metadata
    title = find_title(given.id, text, metadata)
    return Document(given.id, text, title, metadata=metadata, origin=given.origin)


class ReconvertingRetriever(Retriever):
    """A retriever on documents converted anew, whose hits lie in the documents as given."""

    def __init__(self, inner: Retriever, converter: AnyConverter, resources: Resources) -> None:
        self._inner = inner
        self._converter = converter
        self._resources = resources
        self._texts: Mapping[str, str] = {}
        self._alignments: Mapping[str, Alignment] = {}
        self._content = ""

    @property
    def nondeterministic(self) -> bool:  # type: ignore[override]
        """Whether the retriever may answer differently."""
        return self._inner.nondeterministic

    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Convert the files of `documents` and index what comes of them."""
        read, found = convert_anew(documents, self._converter, self._resources)
        self._texts = {item.id: item.text for item in documents}
        self._content = digest([[item.id, item.text] for item in read])
        followed = self._resources.progress.track(read, "placing conversions", len(read))
        self._alignments = {
            item.id: Alignment(item.text, self._texts[item.id]) for item in followed
        }
        report = self._inner.index(read)
        cached = ["convert"] if all(item.cached for item in found) else []
        return replace(
            report,
            seconds={"convert": fsum(item.seconds for item in found), **report.seconds},
            cached=(*cached, *report.cached),
        )

    def search(self, query: str, k: int) -> Ranking:
        """Return what the retriever finds, each chunk as it stands in the document as given."""
        found = self._inner.search(query, k)
        hits = tuple(
            replace(
                hit,
                chunk=self._place(hit.chunk),
                definitions=tuple(map(self._place_definition, hit.definitions)),
            )
            for hit in found.hits
        )
        return replace(found, hits=hits, others=tuple(map(self._place, found.others)))

    def restrict(self, allowed: MetadataFilter) -> Retriever:
        """The same, that finds what `allowed` lets be found."""
        other = copy.copy(self)
        other._inner = self._inner.restrict(allowed)
        return other

    def without_query_cache(self) -> Retriever:
        """The same, with every per-query cache off."""
        other = ReconvertingRetriever(
            self._inner.without_query_cache(), self._converter, self._resources
        )
        other._texts, other._alignments = self._texts, self._alignments
        return other

    def list_chunks(self) -> Sequence[Chunk]:
        """Every indexed chunk, as it stands in the document as given."""
        return self._chunks

    def probe(self, query: str, depth: int) -> Mapping[str, Sequence[str]]:
        """Return the chunk ids each leg would list to `depth`."""
        return self._inner.probe(query, depth)

    def metadata(self) -> Mapping[str, Any]:
        """The facts of the retriever, and what was converted by what."""
        converted = {"converter": identify(self._converter), "text": self._content}
        return {**self._inner.metadata(), "conversion": converted}

    @property
    def asks_server(self) -> bool:
        """Whether the retriever does."""
        return self._inner.asks_server

    def list_foreign(self) -> Collection[str] | None:
        """Return what the retriever says."""
        return self._inner.list_foreign()

    def close(self) -> None:
        """Close the retriever."""
        self._inner.close()

    @cached_property
    def _chunks(self) -> Sequence[Chunk]:
        return [self._place(chunk) for chunk in self._inner.list_chunks()]

    def _place(self, chunk: Chunk) -> Chunk:
        start, end = self._alignments[chunk.doc_id].place(chunk.start, chunk.end)
        text = self._texts[chunk.doc_id][start:end]
        parent = chunk.parent and self._alignments[chunk.doc_id].place(*chunk.parent)
        return replace(chunk, start=start, end=end, text=text, parent=parent)

    def _place_definition(self, found: Definition) -> Definition:
        start, end = self._alignments[found.doc_id].place(found.start, found.end)
        return replace(found, start=start, end=end, text=self._texts[found.doc_id][start:end])
