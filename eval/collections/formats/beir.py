"""BEIR folders: a corpus of passages, queries, judgments of passages."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from assay.eval.collections.card import FileCard, VariantName
from assay.eval.collections.collection import Label, Query
from assay.eval.collections.formats.mapped import LARGEST_HELD, is_large, shelve
from assay.eval.collections.formats.reading import read_beir_qrels, read_jsonl
from assay.eval.collections.formats.rows import Row, RowError, describe_unknown
from assay.eval.collections.formats.source import (
    GoldBook,
    Register,
    Source,
    read_passage_judgments,
    read_query_rows,
)
from assay.retrievers.base import AssayError, Chunk, Context, Document, Passage


class BeirCard(FileCard):
    """A BEIR folder: rows of a corpus are the passages."""

    contexts_of = "passage"

    format: Literal["beir"] = Field(description="how the data is read")
    documents: str = Field("corpus.jsonl", description="rows with _id, title, text, metadata")
    whole_documents: str | None = Field(
        None,
        description="rows with _id, text: the documents the corpus rows (metadata.doc_id) are "
        "passages of",
    )
    contexts: str | None = Field(None, description="rows with _id, context: one a corpus row")
    judgments: dict[VariantName, str | list[str]] = Field(
        {"test": "qrels/test.tsv"},
        min_length=1,
        description="tables of query-id, corpus-id, score by variant; the first is the default",
    )

    @property
    def contexts_file(self) -> str | None:
        """The file of contexts the card names."""
        return self.contexts

    def document_names(self) -> list[str]:
        """The files and folders that the documents are read from."""
        return [name for name in (self.documents, self.whole_documents, self.contexts) if name]


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


class BeirSource(Source[BeirCard]):
    """Each row of the corpus is a passage: of a document of its own, or of one of
    `whole_documents`, whose text then holds the row's text verbatim.
    """

    card_class = BeirCard
    takes_labels = "copy"

    def documents(self) -> Mapping[str, Document]:
        """Return the documents by id, in the order of their files."""
        file = self._root / self._card.documents
        if len(self._card.document_names()) == 1 and is_large(file, LARGEST_HELD):
            return shelve(file, _read_document, self._problems)
        rows = self._read_corpus()
        if self._card.whole_documents is None:
            return {row.id: row.document for row in rows}
        register: Register[Document] = Register("document", self._problems)
        for row in read_jsonl(self._root / self._card.whole_documents, self._problems):
            with self._problems.of(row):
                document = _read_whole(row)
                register.add(row, document.id, document.text, document)
        return _place_rows(rows, register.items, file)

    def queries(self) -> Register[Query]:
        """Return the queries there are, judged or not."""
        path = self._root / self._card.queries
        return read_query_rows(read_jsonl(path, self._problems), self._problems, self._card)

    def gold(
        self, variant: str, documents: Mapping[str, Document], queries: Mapping[str, Query]
    ) -> GoldBook:
        """Return the judgments of `variant`, resolved to characters of `documents`."""
        book = GoldBook(queries, self._card.min_grade, self._problems, self._card.judged_by)
        for name in self._card.judgment_files(variant):
            rows = read_beir_qrels(self._root / name, self._problems)
            read_passage_judgments(rows, documents, book, self._problems)
        return book

    def render_context(self, chunk: Chunk, context: str) -> dict[str, str | int]:
        """Return the row of a passage's context."""
        return {"_id": chunk.id, "context": context}

    def render_label(self, label: Label) -> str:
        """Return the row of a judgment."""
        return f"{label.query_id}\t{label.passage_id}\t{label.grade}\n"

    def _read_corpus(self) -> list[CorpusRow]:
        register: Register[CorpusRow] = Register("document", self._problems)
        for row in read_jsonl(self._root / self._card.documents, self._problems):
            with self._problems.of(row):
                item = _read_corpus_row(row)
                register.add(row, item.id, f"{item.title}\n{item.text}", item)
        contexts = self._read_contexts(register.items)
        return [
            replace(row, context=contexts[row.id]) if row.id in contexts else row
            for row in register.items.values()
        ]

    def _read_contexts(self, known: Mapping[str, CorpusRow]) -> dict[str, str]:
        contexts: dict[str, str] = {}
        if self._card.contexts is None:
            return contexts
        for row in read_jsonl(self._root / self._card.contexts, self._problems):
            with self._problems.of(row):
                id_ = row.string("_id")
                if id_ not in known:
                    raise RowError(describe_unknown("document", id_, known))
                if id_ in contexts:
                    raise RowError(f'document "{id_}" has two contexts; allowed: one')
                contexts[id_] = row.string("context")
        return contexts


def _read_corpus_row(row: Row) -> CorpusRow:
    """Return a row of a corpus. Raises RowError."""
    return CorpusRow(
        row.string("_id"), row.string("title", ""), row.string("text"), row.mapping("metadata")
    )


def _read_whole(row: Row) -> Document:
    """Return a document that rows are passages of. Raises RowError."""
    return Document(
        id=row.string("_id"),
        text=row.string("text"),
        title=row.string("title", ""),
        metadata=row.mapping("metadata"),
    )


def _place_rows(
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
            raise AssayError(
                f'{file}: document "{row.id}" is there twice: as a whole document, and as a row '
                "that no document holds; ids must be unique"
            )
    return placed | {row.id: row.document for row in alone}


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


def _read_document(row: Row) -> Document:
    return _read_corpus_row(row).document
