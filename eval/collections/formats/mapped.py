"""Documents that stay in their files: of each, memory holds where its row begins and ends."""

import codecs
import gzip
import mmap
import shutil
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from eval.collections.formats.reading import GZIP, EncodingError, decode_line, telling
from eval.collections.formats.rows import Row, RowError, parse_json_row
from eval.collections.formats.source import check_id, describe_taken, digest_text
from eval.collections.problems import Problems
from retrievers.base import AssayError, Document
from retrievers.store.cache import Cache, default_root
from retrievers.store.digest import digest_file
from retrievers.store.shelf import ById, PassageShelf

LARGEST_HELD = 1 << 28  # bytes of a corpus that is held in memory
MOST_FILES = 256  # that are mapped: each stays open
PACKING = 4  # by which packed texts are smaller, about
UNPACKED_KIND = "unpacked"  # packed files that are mapped, by their digest
UNPACKED = "content"
PIECE = 1 << 20  # bytes

Content = bytes | mmap.mmap


class Layout(NamedTuple):
    """How a file is made of rows: `scan` yields each with the bytes at which it begins and ends,
    and reports what is broken; `parse` reads one again.
    """

    scan: Callable[[Path, Content, Problems], Iterator[tuple[Row, int, int]]]
    parse: Callable[[Path, int, bytes], Row]


class _File(NamedTuple):
    path: Path
    content: Content
    layout: Layout
    first: int  # of its documents, among all


def is_large(paths: Sequence[Path], most: int) -> bool:
    """Say whether files that can be mapped hold more than `most` bytes; of packed ones that is a
    guess.
    """
    sizes = (
        path.stat().st_size * (PACKING if path.suffix == GZIP else 1)
        for path in paths
        if path.is_file()
    )
    return len(paths) <= MOST_FILES and sum(sizes) > most


def shelve(
    files: Iterable[tuple[Path, Layout]], read: Callable[[Row], Document], problems: Problems
) -> Mapping[str, Document]:
    """Return the documents that `read` makes of the rows of files, by id.

    The files are mapped into memory, those that are packed unpacked in the cache, and may not
    change while documents are in use. What is wrong is told as by a `Register`.
    """
    book = _Book(read, problems)
    try:
        for path, layout in files:
            book.read_file(path, layout)
    except AssayError:
        book.finish()  # where an id is taken before, that is the first broken line
        raise
    shelf = book.finish()
    return ById(shelf, shelf.__getitem__)


class _Book:
    """Where each document stands. Where problems are collected, ids and texts are known by hashes,
    too, to tell which stand twice.
    """

    def __init__(self, read: Callable[[Row], Document], problems: Problems) -> None:
        self._read = read
        self._problems = problems
        self._files: list[_File] = []
        self._starts, self._ends = array("q"), array("q")
        self._lines, self._hashes = array("i"), array("q")
        self._ids: dict[int, int] = {}
        self._texts: dict[bytes, int] = {}

    def read_file(self, path: Path, layout: Layout) -> None:
        """Note where the documents of a file stand."""
        content: Content = b""
        with telling(path, self._problems), _find_plain(path).open("rb") as file:
            if file.seek(0, 2):  # what is empty cannot be mapped
                content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._files.append(_File(path, content, layout, len(self._starts)))
        for row, start, end in layout.scan(path, content, self._problems):
            with self._problems.of(row):
                document = self._read(row)
                check_id("document", document.id)
                if not self._problems.strict:
                    self._compare(row, document)
                self._starts.append(start)
                self._ends.append(end)
                self._lines.append(row.line)
                self._hashes.append(hash(document.id))

    def finish(self) -> PassageShelf[Document]:
        """Return the documents. Raises AssayError where an id stands twice."""
        shelf = PassageShelf(self._hashes, self._take)
        if self._problems.strict and (repeated := shelf.find_repeated()):
            first, second = repeated
            taken = describe_taken("document", shelf[first].id, self._lines[first])
            self._problems.error(self._file(second).path, self._lines[second], taken)
        return shelf

    def _compare(self, row: Row, document: Document) -> None:
        """Warn of a text that stands twice. Raises RowError for an id that does."""
        here = len(self._starts)
        first = self._ids.setdefault(hash(document.id), here)
        if first != here and self._take(first).id == document.id:
            raise RowError(describe_taken("document", document.id, self._lines[first]))
        text = f"{document.title}\n{document.text}".strip()
        same = self._texts.setdefault(digest_text(text), here)
        if not text:
            self._problems.warn(row.file, row.line, f'document "{document.id}" has no text')
        elif same != here:
            message = f'document "{document.id}" has the same text as "{self._take(same).id}"'
            self._problems.warn(row.file, row.line, message)

    def _take(self, at: int) -> Document:
        file = self._file(at)
        content = file.content[self._starts[at] : self._ends[at]]
        return self._read(file.layout.parse(file.path, self._lines[at], content))

    def _file(self, at: int) -> _File:
        return self._files[bisect_right(self._files, at, key=lambda file: file.first) - 1]


def _find_plain(path: Path) -> Path:
    """Return `path`, or where its content lies unpacked."""
    if path.suffix != GZIP:
        return path

    def unpack(folder: Path) -> None:
        with gzip.open(path) as packed, (folder / UNPACKED).open("wb") as plain:
            shutil.copyfileobj(packed, plain, PIECE)

    folder = Cache(default_root()).folder(UNPACKED_KIND, digest_file(path), unpack)
    return folder.path / UNPACKED


def _scan_lines(path: Path, content: Content, problems: Problems) -> Iterator[tuple[Row, int, int]]:
    at, number = 0, 0
    while end := content.find(b"\n", at) + 1 or len(content) * (at < len(content)):
        number += 1
        try:
            line = decode_line(content[at:end], number)
            if line and not line.isspace():
                yield parse_json_row(path, number, line), at, end
        except RowError as error:
            problems.error(path, number, str(error))
            if isinstance(error, EncodingError):
                return
        at = end


def _parse_line(path: Path, number: int, content: bytes) -> Row:
    return parse_json_row(path, number, decode_line(content, number))


JSON_LINES = Layout(_scan_lines, _parse_line)


def find_undecodable(content: Content) -> int | None:
    """Return at which byte `content` is not UTF-8, None where all of it is."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for begin in range(0, len(content), PIECE):
        left = len(decoder.getstate()[0])
        try:
            decoder.decode(content[begin : begin + PIECE], begin + PIECE >= len(content))
        except UnicodeDecodeError as error:
            return begin - left + error.start
    return None
