"""Rows of a BEIR corpus, and their places in the documents they are passages of."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.eval.collections.collection import DocumentShelf, Span
from assay.eval.collections.formats.rows import Row
from assay.retrievers.base import AssayError, Context, Document, Passage, Progress
from assay.retrievers.store.digest import digest
from assay.retrievers.store.lazy_sequence import ById, IdSequence, LazySequence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """A passage, with the context it has."""

    id: str
    title: str
    text: str
    metadata: Mapping[str, Any]
    context: str = ""

    @property
    def document(self) -> Document:
        """A document that is this row and nothing else."""
        end = len(self.text)
        return Document(
            id=self.id,
            text=self.text,
            title=self.title,
            passages=(Passage(self.id, 0, end, self.title),),
            contexts=(Context(0, end, self.context),) if self.context else (),
            metadata=self.metadata,
        )

    @property
    def document_id(self) -> str:
        """The id of the document it says it is a passage of."""
        return str(self.metadata.get("doc_id"))


def read_corpus_row(row: Row) -> CorpusRow:
    """Return a row of a corpus. Raises RowError."""
    return CorpusRow(
        row.string("_id"), row.string("title", ""), row.string("text"), row.mapping("metadata")
    )


def read_whole(row: Row) -> Document:
    """Return a document that rows are passages of. Raises RowError."""
    return Document(
        id=row.string("_id"),
        text=row.string("text"),
        title=row.string("title", ""),
        metadata=row.mapping("metadata"),
    )


def tell_row(row: CorpusRow) -> str:
    """Return what is told of a row that is there twice: its title and text."""
    return f"{row.title}\n{row.text}"


def place_rows(
    rows: Iterable[CorpusRow], whole: Mapping[str, Document], file: Path
) -> dict[str, Document]:
    """Return the documents with the rows of `file` as their passages.

    Rows of a document are placed in the order of metadata.original_index, each behind the one
    before, so that text that occurs twice gives two places. A row whose text its document does
    not hold becomes a document of its own; a document without a row is left out. Raises AssayError
    where two documents have one id.
    """
    by_document: dict[str, list[CorpusRow]] = {}
    alone = []
    for row in rows:
        if row.document_id in whole:
            by_document.setdefault(row.document_id, []).append(row)
        else:
            alone.append(row)
    placed = {}
    for document_id, document in whole.items():
        made, left = _place(by_document.get(document_id, ()), document)
        alone += left
        if made.passages:
            placed[document_id] = made
    for row in alone:
        if row.id in placed:
            raise AssayError(_describe_both(file, row.id))
    return placed | {row.id: row.document for row in alone}


def shelve_rows(
    rows: IdSequence[CorpusRow], whole: IdSequence[Document], file: Path, progress: Progress
) -> DocumentShelf:
    """Return what `place_rows` does, of rows and documents that stay in their files.

    Rows are placed again whenever their document is asked for. Raises AssayError as it does.
    """
    import numpy as np

    tracked = progress.track(rows, "finding documents", len(rows))
    found = (whole.find(row.document_id) for row in tracked)
    of = np.fromiter((-1 if i is None else i for i in found), np.int32, len(rows))
    order = np.argsort(of, kind="stable").astype(np.int32)
    bounds = np.searchsorted(of[order], np.arange(len(whole) + 1))

    def place(i: int) -> tuple[Document, list[CorpusRow]]:
        return _place([rows[row] for row in order[bounds[i] : bounds[i + 1]].tolist()], whole[i])

    held, alone = np.zeros(len(whole), bool), array("i", order[: bounds[0]].tolist())
    for i in progress.track(range(len(whole)), "placing passages", len(whole)):
        made, left = place(i)
        held[i] = bool(made.passages)
        alone.extend(own for row in left if (own := rows.find(row.id)) is not None)
    for id_ in (rows[row].id for row in alone):
        if (other := whole.find(id_)) is not None and held[other]:
            raise AssayError(_describe_both(file, id_))
    kept = held.nonzero()[0].astype(np.int32)
    # Where each row's document stands among all.
    stands = np.searchsorted(kept, of).astype(np.int32)
    stands[alone] = np.arange(len(kept), len(kept) + len(alone))
    hashes = np.concatenate([whole.hashes[kept], rows.hashes[alone]])

    def take(i: int) -> Document:
        return place(kept[i])[0] if i < len(kept) else rows[alone[i - len(kept)]].document

    documents = LazySequence(len(hashes), take)
    shelf = DocumentShelf(hashes, documents.__getitem__, _Places(rows, documents, stands))
    shelf.digest_content = lambda: digest(rows.digest_content(), whole.digest_content())
    return shelf


class _Places(ById[Span]):
    """Where each of `rows` is a passage; `stands` says of which document. In their order."""

    def __init__(
        self,
        rows: IdSequence[CorpusRow],
        documents: Sequence[Document],
        stands: "NDArray[np.int32]",
    ) -> None:
        super().__init__(rows, lambda i: _find_span(rows[i].id, documents[stands[i]]))
        self._documents = documents

    def __iter__(self) -> Iterator[str]:
        return (passage.id for document in self._documents for passage in document.passages)


def _place(rows: Iterable[CorpusRow], document: Document) -> tuple[Document, list[CorpusRow]]:
    """Return a document with its rows as passages, and those rows that it does not hold."""
    passages, contexts, left = [], [], []
    previous, cursor = -1, 0
    for row in sorted(rows, key=_original_index):
        start = document.text.find(row.text, cursor)
        if start < 0:  # passages may overlap
            start = document.text.find(row.text, previous + 1)
        if start < 0:
            left.append(row)
            continue
        previous, cursor = start, start + len(row.text)
        passages.append(Passage(row.id, start, cursor, row.title))
        if row.context:
            contexts.append(Context(start, cursor, row.context))
    return replace(document, passages=tuple(passages), contexts=tuple(contexts)), left


def _original_index(row: CorpusRow) -> int:
    index = row.metadata.get("original_index")
    return index if isinstance(index, int) else 0


def _find_span(id_: str, document: Document) -> Span:
    passage = next(passage for passage in document.passages if passage.id == id_)
    return document.id, passage.start, passage.end


def _describe_both(file: Path, id_: str) -> str:
    return (
        f'{file}: document "{id_}" is there twice: as a whole document, and as a row that no '
        "document holds; ids must be unique"
    )
