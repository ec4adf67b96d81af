"""Data sets of ir_datasets, which the extra `irds` installs."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from assay.eval.collections.card import Card
from assay.eval.collections.collection import GoldItem, Query
from assay.eval.collections.formats.mapped import LARGEST_HELD, shelve
from assay.eval.collections.formats.rows import Row, check_characters
from assay.eval.collections.formats.source import (
    AbsentDocuments,
    GoldBook,
    QueryRegister,
    Register,
    Source,
    index_passages,
    make_passage,
    tell_passage,
)
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError, Document
from assay.retrievers.base.installation import hint_extra
from assay.retrievers.settings.trust import NeedsNoTrust
from assay.retrievers.store.cache import Cache, default_root
from assay.retrievers.store.digest import digest, digest_file

REVISION = 1  # raise it when documents come to be written otherwise
PREFIX = "irds:"
KIND = "irds"  # documents of data sets of which there are many
DOCUMENTS = "documents.jsonl"
TEXT_FIELDS = ("text", "body", "abstract")


class IrdsCard(Card):
    """A data set of ir_datasets; `location` is `irds:` and its id."""

    has_folder = False

    format: Literal["irds"] = Field(description="how the data is read")
    location: Annotated[str, NeedsNoTrust("an id of ir_datasets")] = Field(
        pattern=r"^irds:.+", description="`irds:` and an id of ir_datasets"
    )

    def why_unusable(self) -> str:
        """Return what is missing here to read the format, "" if nothing."""
        return "" if find_spec("ir_datasets") else hint_extra("irds")


class IrdsSource(Source[IrdsCard]):
    """Each document is one passage. Judged documents that the data set lacks are kept: they
    count as never found, as in trec_eval.
    """

    card_class = IrdsCard

    def __init__(self, card: IrdsCard, root: Path, problems: Problems) -> None:
        super().__init__(card, root, problems)
        self._dataset = _load(card.location.removeprefix(PREFIX))

    def documents(self) -> Mapping[str, Document]:
        """Return the documents by id, in the order of their files.

        Many are written into the cache, once, and stay there.
        """
        if (begin := self._digest_many()) is not None:
            lines = self._write_documents(begin) / DOCUMENTS
            return shelve(self._root, _read_document, self._problems, lines)
        register: Register[Document] = Register("document", self._problems)
        for number, record in enumerate(self._records("docs"), start=1):
            row = Row(self._root, number, {})
            document = make_document(record)
            with self._problems.of(row):
                check_characters([document.id, document.title, document.text])
                register.add(row, document.id, tell_passage(document), document)
        return register.items

    def queries(self) -> Register[Query]:
        """Return the queries there are, judged or not."""
        register = QueryRegister(self._problems)
        for number, record in enumerate(self._records("queries"), start=1):
            row = Row(self._root, number, {})
            with self._problems.of(row):
                query = Query(str(record.query_id), record.default_text())
                register.add_query(row, query)
        return register

    def gold(
        self,
        variant: str,
        documents: Mapping[str, Document],
        queries: Mapping[str, Query],
    ) -> GoldBook:
        """Return the judgments of `variant`, resolved to characters of `documents`."""
        book = GoldBook(queries, self._card.min_grade, self._problems, self._card.judged_by)
        places = index_passages(documents)
        absent = AbsentDocuments(places, self._problems)
        for number, record in enumerate(self._records("qrels"), start=1):
            row = Row(self._root, number, {})
            target = str(record.doc_id)
            grade = record.relevance
            with self._problems.of(row):
                span = places.get(target) or absent.note(row, target)
                item = GoldItem(str(record.query_id), target, *span, grade, passage_id=target)
                book.add(row, item)
                absent.judged += 1
        absent.tell()
        return book

    def _digest_many(self) -> str | None:
        """Return the digest of the first documents, up to as many as are held; None for fewer."""
        content, size = sha256(), 0
        for record in self._records("docs"):
            line = _write_line(make_document(record))
            content.update(line)
            size += len(line)
            if size > LARGEST_HELD:
                return content.hexdigest()
        return None

    def _write_documents(self, begin: str) -> Path:
        """Return the folder of the cache with a line for each document; `begin` is the digest of
        the first.
        """
        import ir_datasets

        identifier = self._card.location.removeprefix(PREFIX)
        release = ir_datasets.__version__
        key = digest(identifier, release, begin, self._digest_file(), REVISION)

        def write(folder: Path) -> None:
            records = self._records("docs")
            if count := ir_datasets.util.count_hint(identifier)():
                what = f"reading {self._card.location}"
                records = self._problems.progress.track(records, what, count)
            with (folder / DOCUMENTS).open("wb") as file:
                file.writelines(_write_line(make_document(record)) for record in records)

        return Cache(default_root()).folder(KIND, key, write).path

    def _digest_file(self) -> str:
        """Return the digest of the file that the documents are read from, "" unless it is one."""
        if not hasattr(self._dataset, "docs_path"):
            return ""
        with self._telling():
            path = self._dataset.docs_path()
            return digest_file(path) if (path := Path(path)).is_file() else ""

    def _records(self, kind: str) -> Iterator[Any]:
        """Yield all `kind` (docs, queries, qrels). The first use may download them."""
        if not hasattr(self._dataset, f"{kind}_iter"):
            raise AssayError(
                f"{self._card.location}: the data set has no {kind}; "
                "it must have docs, queries and qrels"
            )
        with self._telling():
            yield from getattr(self._dataset, f"{kind}_iter")()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Raise AssayError with the reason if the data set cannot be read in this block."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise AssayError(f"{self._card.location}: cannot be read: {reason}") from None


def _load(identifier: str) -> Any:
    try:
        import ir_datasets
    except ImportError:
        raise AssayError(f"{PREFIX}{identifier}: {hint_extra('irds')}") from None
    try:
        return ir_datasets.load(identifier)
    except KeyError:
        raise AssayError(f"{PREFIX}{identifier}: ir_datasets knows no such data set") from None


def _write_line(document: Document) -> bytes:
    values = {"_id": document.id, "title": document.title, "text": document.text}
    # Half of a surrogate pair, which has no UTF-8, is reported when the line is read.
    return f"{json.dumps(values, ensure_ascii=False)}\n".encode(errors="backslashreplace")


def _read_document(row: Row) -> Document:
    return make_passage(row.string("_id"), row.string("title"), row.string("text"))


def make_document(record: Any) -> Document:
    """Return a document of a record, with a title if it has a title and one field of text."""
    fields = record._asdict()
    title = fields.get("title")
    texts = [fields[name] for name in TEXT_FIELDS if name in fields]
    if not isinstance(title, str) or len(texts) != 1 or not isinstance(texts[0], str):
        title, texts = "", [record.default_text()]
    return make_passage(str(record.doc_id), title, texts[0])
