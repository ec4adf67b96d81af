"""Books of what stands in rows that stay in their files."""

from array import array
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Generic

from assay.eval.collections.formats.mapped import Layout, MappedRows
from assay.eval.collections.formats.reading import CHANGED
from assay.eval.collections.formats.rows import Row, RowError
from assay.eval.collections.formats.source import Echoes, check_id, describe_taken
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError, Document, Passage
from assay.retrievers.store.digest import digest
from assay.retrievers.store.lazy_sequence import ById, IdSequence, N, PassageSequence


class RowSequence(Generic[N]):
    """Items that `make` makes of rows that stay in their files, each with an id of its own.

    What is wrong is told as by a `Register`: an id twice is an error, a text that `tell` gives of
    an item a warning when it is empty or stands twice. Where problems are collected, ids and texts
    are known by hashes, too.
    """

    def __init__(
        self, make: Callable[[Row], N], problems: Problems, tell: Callable[[N], str] | None = None
    ) -> None:
        self.rows = MappedRows(problems)
        self.hashes = array("q")
        self._make = make
        self._problems = problems
        self._tell = tell
        self._ids: dict[int, int] = {}
        self._echoes: Echoes[int] = Echoes("document", problems, lambda i: self.take(i).id)

    def read(
        self,
        files: Iterable[tuple[Path, Layout]],
        plain: Path | None = None,
        kind: type[IdSequence[N]] = IdSequence,
    ) -> IdSequence[N]:
        """Return a shelf of the items in the order of `files`; see `MappedRows.scan`.

        Raises AssayError where one is broken, or an id stands twice.
        """
        try:
            for path, layout in files:
                for row, start, end in self.rows.scan(path, layout, plain):
                    with self._problems.of(row):
                        self._add(row, start, end)
        except AssayError:
            self._shelve(kind)  # where an id is taken before, that is the first broken line
            raise
        return self._shelve(kind)

    def take(self, i: int) -> N:
        """Return the item at a place, made anew. Raises AssayError where its row is broken now."""
        try:
            return self._make(self.rows[i])
        except (RowError, ValueError):
            file, line = self.rows.locate(i)
            raise AssayError(f"{file}:{line}: {CHANGED}") from None

    def check(self, item: N) -> None:
        """Raise RowError for an item that cannot be kept, whatever the others are."""
        check_id("document", item.id)

    def describe_taken(self, id_: str, line: int) -> str:
        """Return in words that an item of this id stands in an earlier line, too."""
        return describe_taken("document", id_, line)

    def digest(self) -> str:
        """Return a digest of all that the items are made of."""
        return digest(self._make.__module__, self._make.__qualname__, self.rows.digest())

    def _add(self, row: Row, start: int, end: int) -> None:
        item = self._make(row)
        self.check(item)
        here = len(self.rows)
        if not self._problems.strict:
            first = self._ids.setdefault(hash(item.id), here)
            if first != here and self.take(first).id == item.id:
                raise RowError(self.describe_taken(item.id, self.rows.locate(first)[1]))
            if self._tell is not None:
                self._echoes.note(row, item.id, self._tell(item), here)
        self.rows.keep(row, start, end)
        self.hashes.append(hash(item.id))

    def _shelve(self, kind: type[IdSequence[N]]) -> IdSequence[N]:
        shelf = kind(self.hashes, self.take)
        shelf.digest_content = self.digest
        if self._problems.strict and (repeated := shelf.find_repeated()):
            first, second = repeated
            taken = self.describe_taken(shelf[first].id, self.rows.locate(first)[1])
            self._problems.error(*self.rows.locate(second), taken)
        return shelf


def make_passage(identifier: str, title: str, text: str) -> Document:
    """Return a document that is one passage."""
    return Document(identifier, text, title, (Passage(identifier, 0, len(text), title),))


def tell_all(document: Document) -> str:
    """Return what is told of a passage that is there twice: its title and text."""
    return f"{document.title}\n{document.text}"


def shelve(
    files: Iterable[tuple[Path, Layout]],
    make: Callable[[Row], Document],
    problems: Problems,
    plain: Path | None = None,
) -> Mapping[str, Document]:
    """Return the documents, each one passage, that `make` makes of the rows of files, by id.

    They stay in the files (see `MappedRows`); what is wrong is told as by a `RowSequence`.
    """
    shelf = RowSequence(make, problems, tell_all).read(files, plain, PassageSequence)
    return ById(shelf, shelf.__getitem__)
