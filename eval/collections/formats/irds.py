"""Data sets of ir_datasets, which the extra `irds` brings."""

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from eval.collections.card import Card
from eval.collections.collection import GoldItem, Query
from eval.collections.formats.rows import Row, describe_unknown
from eval.collections.formats.source import GoldBook, QueryRegister, Register, Source, passage_index
from eval.collections.problems import Problems
from retrievers.base import AssayError, Document, Passage
from retrievers.base.installation import hint_extra

PREFIX = "irds:"
TEXT_FIELDS = ("text", "body", "abstract")


class IrdsCard(Card):
    """A data set of ir_datasets; `location` is `irds:` and its id."""

    has_folder = False

    format: Literal["irds"] = Field(description="how the data is read")
    location: str = Field(pattern=r"^irds:.+", description="`irds:` and an id of ir_datasets")

    def why_unusable(self) -> str:
        """Return what the format lacks here to be read, "" where nothing."""
        return "" if find_spec("ir_datasets") else hint_extra("irds")


class IrdsSource(Source[IrdsCard]):
    """Each document is one passage. Judged documents that the data set lacks are kept: they
    count as never found, as in trec_eval.
    """

    card_class = IrdsCard

    def __init__(self, card: IrdsCard, root: Path, problems: Problems) -> None:
        super().__init__(card, root, problems)
        self._dataset = _load(card.location.removeprefix(PREFIX))

    def documents(self) -> dict[str, Document]:
        """Return the documents by id, in the order of their files."""
        register: Register[Document] = Register("document", self._problems)
        for number, record in enumerate(self._records("docs"), start=1):
            row = Row(self._root, number, {})
            document = _make_document(record)
            with self._problems.of(row):
                text = f"{document.title}\n{document.text}"
                register.add(row, document.id, text, document)
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
        places = passage_index(documents)
        for number, record in enumerate(self._records("qrels"), start=1):
            row = Row(self._root, number, {})
            target = str(record.doc_id)
            if target not in places:
                message = describe_unknown("document", target, places)
                self._problems.warn(row.file, row.line, message)
            span = places.get(target, (target, 0, 0))
            grade = record.relevance
            with self._problems.of(row):
                item = GoldItem(str(record.query_id), target, *span, grade, passage_id=target)
                book.add(row, item)
        return book

    def _records(self, kind: str) -> Iterable[Any]:
        """Return all `kind` (docs, queries, qrels). The first use may download them."""
        if not hasattr(self._dataset, f"{kind}_iter"):
            raise AssayError(
                f"{self._card.location}: the data set has no {kind}; "
                "it must have docs, queries and qrels"
            )
        try:
            return list(getattr(self._dataset, f"{kind}_iter")())
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


def _make_document(record: Any) -> Document:
    """Return a record with its title apart, where it has a title and one field of text."""
    fields = record._asdict()
    title = fields.get("title")
    texts = [fields[name] for name in TEXT_FIELDS if name in fields]
    if not isinstance(title, str) or len(texts) != 1 or not isinstance(texts[0], str):
        title, texts = "", [record.default_text()]
    identifier, text = str(record.doc_id), texts[0]
    return Document(identifier, text, title, (Passage(identifier, 0, len(text), title),))
