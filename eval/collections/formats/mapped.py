"""Passages that stay in their files: memory holds the offsets of their begin and end."""

import codecs
import mmap
import shutil
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from assay.eval.collections.formats.reading import (
    CHANGED,
    EncodingError,
    decode_line,
    is_packed,
    measure,
    metering,
    open_unpacked,
    telling,
)
from assay.eval.collections.formats.rows import Row, RowError, parse_json_row
from assay.eval.collections.formats.source import (
    Echoes,
    check_id,
    describe_taken,
    tell_passage,
)
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError, Document
from assay.retrievers.store.cache import Cache, default_root
from assay.retrievers.store.digest import digest, digest_file
from assay.retrievers.store.lazy_sequence import ById, PassageSequence

LARGEST_HELD = 1 << 28  # bytes of a corpus that is held in memory
MOST_FILES = 256  # that are mapped: each stays open
UNPACKED_KIND = "unpacked"  # packed files that are mapped, by their digest
UNPACKED = "content"
PIECE = 1 << 20  # bytes

Content = bytes | mmap.mmap


class Layout(NamedTuple):
    """The row format of a file.

    `scan` yields each row with the bytes at which it begins and ends, and reports broken ones;
    `parse` reads a row again.
    """

    scan: Callable[[Path, Content, Problems], Iterator[tuple[Row, int, int]]]
    parse: Callable[[Path, int, bytes], Row]


class _File(NamedTuple):
    path: Path
    content: Content
    layout: Layout
    first: int  # of its rows, among all


def is_large(paths: Sequence[Path], most: int) -> bool:
    """Return True if files, few enough to be mapped, hold more than `most` bytes."""
    return len(paths) <= MOST_FILES and sum(map(measure, paths)) > most


def shelve(
    files: Iterable[tuple[Path, Layout]],
    make: Callable[[Row], Document],
    problems: Problems,
    plain: Path | None = None,
) -> Mapping[str, Document]:
    """Return the documents, each one passage, that `make` makes of the rows of files, by id.

    They stay in the files: memory holds the offsets at which each row begins and ends. Problems are
    reported as by a `Register`. `plain` is the file to read instead of those of `files`, if given.
    Raises AssayError if a row is broken, or an id is repeated.
    """
    shelf = _PassageFiles(make, problems).read(files, plain)
    return ById(shelf, shelf.__getitem__)


class _PassageFiles:
    """Passages in the rows of files, each with an id of its own.

    The files are mapped into memory, those that are packed unpacked in the cache, and may not
    change while passages are in use. Ids and texts are known by hashes.
    """

    def __init__(self, make: Callable[[Row], Document], problems: Problems) -> None:
        self._make = make
        self._problems = problems
        self._files: list[_File] = []
        self._starts, self._ends, self._lines = array("q"), array("q"), array("i")
        self._hashes = array("q")
        self._ids: dict[int, int] = {}
        self._echoes: Echoes[int] = Echoes("document", problems, lambda i: self._take(i).id)

    def read(
        self, files: Iterable[tuple[Path, Layout]], plain: Path | None
    ) -> PassageSequence[Document]:
        """Return the sequence of passages, read on access, in the order of `files`."""
        try:
            for path, layout in files:
                for row, start, end in self._scan(path, layout, plain):
                    with self._problems.of(row):
                        self._add(row, start, end)
        except AssayError:
            self._shelve()  # where an id is taken before, that is the first broken line
            raise
        return self._shelve()

    def _scan(
        self, path: Path, layout: Layout, plain: Path | None
    ) -> Iterator[tuple[Row, int, int]]:
        content: Content = b""
        with telling(path, self._problems), (plain or _find_plain(path)).open("rb") as file:
            if file.seek(0, 2):  # what is empty cannot be mapped
                content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._files.append(_File(path, content, layout, len(self._starts)))
        with metering(path, len(content), self._problems) as reach:
            for row, start, end in layout.scan(path, content, self._problems):
                reach(start)
                yield row, start, end

    def _add(self, row: Row, start: int, end: int) -> None:
        item = self._make(row)
        check_id("document", item.id)
        here = len(self._starts)
        if not self._problems.strict:
            first = self._ids.setdefault(hash(item.id), here)
            if first != here and self._take(first).id == item.id:
                raise RowError(describe_taken("document", item.id, self._lines[first]))
            self._echoes.note(row, item.id, tell_passage(item), here)
        self._starts.append(start)
        self._ends.append(end)
        self._lines.append(row.line)
        self._hashes.append(hash(item.id))

    def _shelve(self) -> PassageSequence[Document]:
        shelf = PassageSequence(self._hashes, self._take)
        shelf.digest_content = self._digest
        if self._problems.strict and (repeated := shelf.find_repeated()):
            first, second = repeated
            taken = describe_taken("document", shelf[first].id, self._lines[first])
            self._problems.error(self._file(second).path, self._lines[second], taken)
        return shelf

    def _take(self, i: int) -> Document:
        """Return a passage, read again. Raises AssayError if its row is now broken."""
        path, content, layout, _ = self._file(i)
        try:
            piece = content[self._starts[i] : self._ends[i]]
            return self._make(layout.parse(path, self._lines[i], piece))
        except (RowError, ValueError):
            raise AssayError(f"{path}:{self._lines[i]}: {CHANGED}") from None

    def _digest(self) -> str:
        """Return a digest of the files, as they are mapped, and of how they are read."""
        parts = [
            [file.layout.parse.__qualname__, sha256(file.content).hexdigest()]
            for file in self._files
        ]
        return digest(self._make.__module__, self._make.__qualname__, digest(parts))

    def _file(self, i: int) -> _File:
        return self._files[bisect_right(self._files, i, key=lambda file: file.first) - 1]


def _find_plain(path: Path) -> Path:
    """Return `path`, or the file with its unpacked content."""
    if not is_packed(path):
        return path

    def unpack(folder: Path) -> None:
        with open_unpacked(path) as packed, (folder / UNPACKED).open("wb") as plain:
            shutil.copyfileobj(packed, plain, PIECE)

    folder = Cache(default_root()).folder(UNPACKED_KIND, digest_file(path), unpack)
    return folder.path / UNPACKED


def _scan_lines(path: Path, content: Content, problems: Problems) -> Iterator[tuple[Row, int, int]]:
    i, number = 0, 0
    while end := content.find(b"\n", i) + 1 or len(content) * (i < len(content)):
        number += 1
        try:
            line = decode_line(content[i:end], number)
            if line and not line.isspace():
                yield parse_json_row(path, number, line), i, end
        except RowError as error:
            problems.error(path, number, str(error))
            if isinstance(error, EncodingError):
                return
        i = end


def _parse_line(path: Path, number: int, content: bytes) -> Row:
    return parse_json_row(path, number, decode_line(content, number))


JSON_LINES = Layout(_scan_lines, _parse_line)


def find_undecodable(content: Content) -> int | None:
    """Return the first byte at which `content` is not UTF-8, None if all of it is."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for begin in range(0, len(content), PIECE):
        left = len(decoder.getstate()[0])
        try:
            decoder.decode(content[begin : begin + PIECE], begin + PIECE >= len(content))
        except UnicodeDecodeError as error:
            return begin - left + error.start
    return None
