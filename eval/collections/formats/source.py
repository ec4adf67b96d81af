"""The reader of a format, and the classes in which it collects what it has read."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar

from assay.eval.collections.card import Card
from assay.eval.collections.collection import GoldItem, Label, Query, Span
from assay.eval.collections.formats.rows import Row, RowError, describe_unknown, find_alike
from assay.eval.collections.permissions import find_allowed
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError, Chunk, Document, Passage
from assay.retrievers.store.lazy_sequence import ById, PassageSequence

T = TypeVar("T")
K = TypeVar("K")
C = TypeVar("C", bound=Card)

NOTHING: Mapping[str, Any] = {}


class Source(ABC, Generic[C]):
    """The data of one collection, read in a strict way or a reporting one (see Problems).

    `card_class` is the card of the format. `takes_labels` says whether judgments can be added to a
    copy of the files, or to the files themselves too, and `names_judges` whether they say whose a
    judgment is.
    """

    card_class: ClassVar[type[Card]]
    takes_labels: ClassVar[Literal["", "copy", "in place"]] = ""
    names_judges: ClassVar[bool] = False

    def __init__(self, card: C, root: Path, problems: Problems) -> None:
        self._card = card
        self._root = root
        self._problems = problems

    @abstractmethod
    def documents(self) -> Mapping[str, Document]:
        """Return the documents by id, in the order of their files."""

    @abstractmethod
    def queries(self) -> "Register[Query]":
        """Return the queries there are, judged or not, in the order of their file."""

    @abstractmethod
    def gold(
        self, variant: str, documents: Mapping[str, Document], queries: Mapping[str, Query]
    ) -> "GoldBook":
        """Return the judgments of `variant`, resolved to characters of `documents`."""

    def render_context(self, chunk: Chunk, context: str) -> dict[str, str | int]:
        """Return the row in which a format with contexts stores the context of a chunk."""
        raise NotImplementedError

    def render_label(self, label: Label) -> str:
        """Return the line in which a format that takes labels stores a judgment."""
        raise NotImplementedError

    def find_files(self, variant: str) -> dict[str, Path]:
        """Return the file to which judgments of a query are added, where it is not the first."""
        return {}

    def convert_judgments(
        self,
        gold: Mapping[str, Sequence[GoldItem]],
        variant: str,
        queries: set[str],
        target: Path,
    ) -> dict[str, Any]:
        """Write judgments of `queries` from files that cannot be added to, into one in `target`.

        Return the keys of the card that change.
        """
        return {}


def check_id(what: str, identifier: str) -> None:
    """Raise RowError when the id of a document or query is empty."""
    if not identifier.strip():
        raise RowError(f"the {what}'s id is empty; each needs an id of its own")


def describe_taken(what: str, identifier: str, line: int) -> str:
    """Return a message that an id is already that of an earlier line."""
    return f'{what} id "{identifier}" is taken by line {line}; ids must be unique'


def digest_text(text: str) -> bytes:
    """Return a digest of 16 bytes of a text: even of millions of texts, no two have the same."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Echoes(Generic[K]):
    """Texts known by digests, to warn of one that is empty or repeated.

    `name` returns the id of the item that was noted by a key. `copies` maps the id of an item that
    is a known copy to that of its original: such a repetition causes no warning.
    """

    def __init__(
        self,
        what: str,
        problems: Problems,
        name: Callable[[K], str],
        copies: Mapping[str, str] | None = None,
    ) -> None:
        self._what = what
        self._problems = problems
        self._name = name
        self._copies = copies or {}
        self._keys: dict[bytes, K] = {}

    def note(self, row: Row, identifier: str, text: str, key: K) -> None:
        """Warn of the text of an item, or note it by `key`."""
        if self._problems.strict:  # warnings are dropped, so that texts need not be known
            return
        bare = text.strip()
        first = self._keys.setdefault(digest_text(bare), key)
        if not bare:
            self._problems.warn(row.file, row.line, f'{self._what} "{identifier}" has no text')
        elif first != key and not self._is_known_copy(identifier, same := self._name(first)):
            message = f'{self._what} "{identifier}" has the same text as "{same}"'
            self._problems.warn(row.file, row.line, message)

    def _is_known_copy(self, one: str, other: str) -> bool:
        return self._copies.get(one, one) == self._copies.get(other, other)


class Register(Generic[T]):
    """Items by id, in order, each with its row.

    A repeated id is an error, a repeated text a warning. `copies` are those of `Echoes`.
    `keeps_values` says whether rows keep their values, which for documents holds texts twice.
    """

    keeps_values: ClassVar[bool] = False

    def __init__(
        self, what: str, problems: Problems, copies: Mapping[str, str] | None = None
    ) -> None:
        self.items: dict[str, T] = {}
        self.rows: dict[str, Row] = {}
        self._what = what
        self._echoes: Echoes[str] = Echoes(what, problems, str, copies)

    def add(self, row: Row, identifier: str, text: str, item: T) -> None:
        """Keep `item`. Raises RowError when its id is empty or taken."""
        check_id(self._what, identifier)
        if identifier in self.rows:
            raise RowError(describe_taken(self._what, identifier, self.rows[identifier].line))
        self.rows[identifier] = row if self.keeps_values else replace(row, values=NOTHING)
        self.items[identifier] = item
        self._echoes.note(row, identifier, text, identifier)


class QueryRegister(Register[Query]):
    """Queries by id, with their rows; one without text is an error."""

    keeps_values = True

    def __init__(self, problems: Problems) -> None:
        super().__init__("query", problems)

    def add_query(self, row: Row, query: Query) -> None:
        """Keep `query`. Raises RowError when its text is empty, or its id empty or taken."""
        if not query.text.strip():
            raise RowError(f'query "{query.id}" has no text')
        self.add(row, query.id, query.text, query)


class GoldBook:
    """Gold items by query and id.

    Grades below `min_grade` are kept as 0, and those that name nobody are by `judged_by`. `spans`
    are the items that are neither a whole document nor a prescribed passage, each with its row,
    if `problems` are collected.
    """

    def __init__(
        self,
        queries: Mapping[str, Query],
        min_grade: int,
        problems: Problems,
        judged_by: str = "",
    ) -> None:
        self.items: dict[str, dict[str, GoldItem]] = {}
        self.rows: dict[str, Row] = {}
        self.spans: dict[tuple[str, str], tuple[GoldItem, Row]] = {}
        self._queries = queries
        self._min_grade = min_grade
        self._problems = problems
        self._judged_by = judged_by

    def add(self, row: Row, item: GoldItem) -> None:
        """Keep `item`. Raises RowError for an unknown query and for two grades of one text.

        If a person and a model gave a grade, the person's counts, whatever the two are.
        """
        if item.query_id not in self._queries:
            raise RowError(describe_unknown("query", item.query_id, self._queries))
        grade = item.grade if item.grade >= self._min_grade else min(item.grade, 0)
        judge = item.judged_by or self._judged_by
        if grade != item.grade or judge != item.judged_by:
            item = replace(item, grade=grade, judged_by=judge)
        of_query = self.items.setdefault(item.query_id, {})
        self.rows.setdefault(item.query_id, row)
        known = of_query.get(item.id)
        if known is None or (known.by_model and not item.by_model):
            of_query[item.id] = item
            if not (self._problems.strict or item.passage_id or item.id == item.doc_id):
                self.spans[item.query_id, item.id] = item, replace(row, values=NOTHING)
        elif item.by_model and not known.by_model:
            pass
        elif known.grade != item.grade:
            raise RowError(
                f'"{item.id}" has grade {item.grade} here and {known.grade} before '
                f'for query "{item.query_id}"; one text must have one grade'
            )
        else:
            message = f'query "{item.query_id}": "{item.id}" is judged twice'
            self._problems.warn(row.file, row.line, message)


def read_query_rows(
    rows: Iterator[Row], problems: Problems, card: Card | None = None
) -> QueryRegister:
    """Return the queries of JSON Lines rows: `_id`, `text`, `type` (or metadata.type), `group`.

    And `filter` and `principal`, which must fit the card; without one they are refused. A query
    without a `group` has that of its metadata which the card names.
    """
    card = card or Card(name="none", title="", format="")
    register = QueryRegister(problems)
    for row in rows:
        with problems.of(row):
            metadata = row.mapping("metadata")
            kind = row.string("type", Row(row.file, row.line, metadata).string("type", ""))
            group = row.string("group", "") or _read_group(metadata, card.groups)
            query = Query(row.string("_id"), row.string("text"), kind, metadata, group=group)
            register.add_query(row, restrict_query(query, row, card))
    return register


def _read_group(metadata: Mapping[str, Any], key: str) -> str:
    """Return the group at a key of a query's metadata, "" without. Raises RowError."""
    value = metadata.get(key) if key else None
    if value is None:
        return ""
    if type(value) not in (str, int):
        raise RowError(f'"metadata.{key}" must be a string or a whole number: it names a group')
    return str(value)


def restrict_query(query: Query, row: Row, card: Card) -> Query:
    """Return `query` with the filter and the principal that its row has. Raises RowError."""
    if not row.has("filter") and not row.has("principal"):
        return query
    found = replace(query, filter=row.mapping("filter"), principal=row.string("principal", ""))
    try:
        find_allowed(card, found)
    except AssayError as error:
        raise RowError(f'query "{query.id}": {error}') from None
    return found


def make_passage(identifier: str, title: str, text: str) -> Document:
    """Return a document that is one passage."""
    return Document(identifier, text, title, (Passage(identifier, 0, len(text), title),))


def tell_passage(document: Document) -> str:
    """Return the text by which a repeated passage is recognised: its title and text."""
    return f"{document.title}\n{document.text}"


def index_passages(documents: Mapping[str, Document]) -> Mapping[str, Span]:
    """Return the place of each passage by its id."""
    if isinstance(documents, ById) and isinstance(documents.shelf, PassageSequence):
        shelf: PassageSequence[Document] = documents.shelf
        return ById(shelf, lambda i: (shelf[i].id, 0, len(shelf[i].text)))
    return {
        passage.id: (document.id, passage.start, passage.end)
        for document in documents.values()
        for passage in document.passages
    }


class AbsentDocuments:
    """Judged documents, or passages, that a collection lacks; `judged` counts all judgments."""

    def __init__(self, known: Mapping[str, object], problems: Problems) -> None:
        self.judged = 0
        self._known = known
        self._problems = problems
        self._rows: dict[str, Row] = {}
        self._times = 0

    def note(self, row: Row, name: str) -> Span:
        """Return the place of a document that is not there.

        Raises RowError where the collection has none at all, or one by another way of writing.
        """
        if not self._known or find_alike(name, self._known):
            raise RowError(describe_unknown("document", name, self._known))
        self._rows.setdefault(name, row)
        self._times += 1
        return name, 0, 0

    def tell(self) -> None:
        """Warn of them once; where no judgment is of a document there is, that is an error."""
        if not self._rows:
            return
        name, row = next(iter(self._rows.items()))
        if self._times == self.judged:
            message = describe_unknown("document", name, self._known)
            self._problems.error(row.file, row.line, f"{message}; no judged document is there")
            return
        self._problems.warn(
            row.file,
            row.line,
            f"judgments of documents that the collection lacks: {self._times:,}, of "
            f'{len(self._rows):,} documents (first: "{name}"); nothing can find these',
        )


def read_passage_judgments(
    rows: Iterator[Row], documents: Mapping[str, Document], book: GoldBook, problems: Problems
) -> None:
    """Put judgments that name prescribed passages into `book`.

    Those of passages that the collection lacks are kept, as trec_eval does; they are never found.
    """
    places = index_passages(documents)
    absent = AbsentDocuments(places, problems)
    for row in rows:
        with problems.of(row):
            target = row.string("target")
            span = places.get(target)
            if span is None:
                span = absent.note(row, target)
            item = GoldItem(
                row.string("query_id"), target, *span, row.integer("grade"), passage_id=target
            )
            book.add(row, item)
            absent.judged += 1
    absent.tell()
