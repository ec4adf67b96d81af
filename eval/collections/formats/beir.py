"""BEIR folders: a corpus of passages, queries, judgments of passages."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

from pydantic import Field

from assay.eval.collections.card import FileCard, VariantName
from assay.eval.collections.collection import Label, Query
from assay.eval.collections.formats.corpus_rows import (
    CorpusRow,
    place_rows,
    read_corpus_row,
    read_whole,
    shelve_rows,
    tell_row,
)
from assay.eval.collections.formats.mapped import JSON_LINES, LARGEST_HELD, is_large
from assay.eval.collections.formats.reading import read_beir_qrels, read_jsonl
from assay.eval.collections.formats.row_sequence import RowSequence, shelve
from assay.eval.collections.formats.rows import Row, RowError, describe_unknown
from assay.eval.collections.formats.source import (
    GoldBook,
    Register,
    Source,
    read_passage_judgments,
    read_query_rows,
)
from assay.eval.collections.problems import Problems
from assay.retrievers.base import Chunk, Document
from assay.retrievers.store.digest import digest
from assay.retrievers.store.lazy_sequence import ById, IdSequence, PassageSequence


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


class BeirSource(Source[BeirCard]):
    """Each row of the corpus is a passage: of a document of its own, or of one of
    `whole_documents`, whose text then holds the row's text verbatim.
    """

    card_class = BeirCard
    takes_labels = "copy"

    def documents(self) -> Mapping[str, Document]:
        """Return the documents by id, in the order of their files."""
        names = self._card.document_names()
        if is_large([self._root / name for name in names], LARGEST_HELD):
            if len(names) == 1:
                file = self._root / self._card.documents
                return shelve([(file, JSON_LINES)], _read_document, self._problems)
            shelf = self._shelve()
            return ById(shelf, shelf.__getitem__)
        rows = self._read_corpus()
        if self._card.whole_documents is None:
            return {row.id: row.document for row in rows}
        register: Register[Document] = Register("document", self._problems)
        for row in read_jsonl(self._root / self._card.whole_documents, self._problems):
            with self._problems.of(row):
                document = read_whole(row)
                register.add(row, document.id, document.text, document)
        return place_rows(rows, register.items, self._root / self._card.documents)

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

    def _shelve(self) -> IdSequence[Document]:
        """Return the documents with their contexts, or of several passages; they stay in their
        files.
        """
        file = self._root / self._card.documents
        rows = self._add_contexts(
            RowSequence(read_corpus_row, self._problems, tell_row).read([(file, JSON_LINES)])
        )
        if self._card.whole_documents is None:
            shelf = PassageSequence(rows.hashes, lambda i: rows[i].document)
            shelf.digest_content = rows.digest_content
            return shelf
        book = RowSequence(read_whole, self._problems, lambda document: document.text)
        whole = book.read([(self._root / self._card.whole_documents, JSON_LINES)])
        return shelve_rows(rows, whole, file, self._problems.progress)

    def _add_contexts(self, rows: IdSequence[CorpusRow]) -> IdSequence[CorpusRow]:
        """Return `rows`, each with its context, which stays in its file."""
        if self._card.contexts is None:
            return rows
        book = _ContextBook(rows, self._problems)
        contexts = book.read([(self._root / self._card.contexts, JSON_LINES)])

        def take(i: int) -> CorpusRow:
            place = contexts.find(rows[i].id)
            return rows[i] if place is None else replace(rows[i], context=contexts[place].context)

        shelf = IdSequence(rows.hashes, take)
        shelf.digest_content = lambda: digest(rows.digest_content(), contexts.digest_content())
        return shelf

    def _read_corpus(self) -> list[CorpusRow]:
        register: Register[CorpusRow] = Register("document", self._problems)
        for row in read_jsonl(self._root / self._card.documents, self._problems):
            with self._problems.of(row):
                item = read_corpus_row(row)
                register.add(row, item.id, tell_row(item), item)
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
                item = _read_context(row)
                if item.id not in known:
                    raise RowError(describe_unknown("document", item.id, known))
                if item.id in contexts:
                    raise RowError(_describe_two(item.id))
                contexts[item.id] = item.context
        return contexts


class _ContextRow(NamedTuple):
    id: str
    context: str


class _ContextBook(RowSequence[_ContextRow]):
    """The contexts of passages that stay in their file; each must be of one of `rows`."""

    def __init__(self, rows: IdSequence[CorpusRow], problems: Problems) -> None:
        super().__init__(_read_context, problems)
        self._known = ById(rows, rows.__getitem__)

    def check(self, item: _ContextRow) -> None:
        if item.id not in self._known:
            raise RowError(describe_unknown("document", item.id, self._known))

    def describe_taken(self, id_: str, line: int) -> str:
        return _describe_two(id_)


def _read_document(row: Row) -> Document:
    return read_corpus_row(row).document


def _read_context(row: Row) -> _ContextRow:
    return _ContextRow(row.string("_id"), row.string("context"))


def _describe_two(id_: str) -> str:
    return f'document "{id_}" has two contexts; allowed: one'
