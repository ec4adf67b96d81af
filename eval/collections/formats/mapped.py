"""Rows that stay in their files: of each, memory holds where it begins and ends."""

import codecs
import mmap
import shutil
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from assay.eval.collections.formats.reading import (
    EncodingError,
    decode_line,
    is_packed,
    measure,
    metering,
    open_unpacked,
    telling,
)
from assay.eval.collections.formats.rows import Row, RowError, parse_json_row
from assay.eval.collections.problems import Problems
from assay.retrievers.store.cache import Cache, default_root
from assay.retrievers.store.digest import digest, digest_file

LARGEST_HELD = 1 << 28  # bytes of a corpus that is held in memory
MOST_FILES = 256  # that are mapped: each stays open
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
    first: int  # of its rows, among all


def is_large(paths: Sequence[Path], most: int) -> bool:
    """Say whether files that can be mapped hold more than `most` bytes."""
    return len(paths) <= MOST_FILES and sum(map(measure, paths)) > most


class MappedRows:
    """Rows of files that stay there: memory holds where each begins and ends, and its line.

    The files are mapped into memory, those that are packed unpacked in the cache, and may not
    change while rows are in use.
    """

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._files: list[_File] = []
        self._starts, self._ends, self._lines = array("q"), array("q"), array("i")

    def scan(
        self, path: Path, layout: Layout, plain: Path | None = None
    ) -> Iterator[tuple[Row, int, int]]:
        """Yield the rows of `path`, each with where it begins and ends, for `keep`.

        What it holds is in `plain`, where that is another file.
        """
        content: Content = b""
        with telling(path, self._problems), (plain or _find_plain(path)).open("rb") as file:
            if file.seek(0, 2):  # what is empty cannot be mapped
                content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._files.append(_File(path, content, layout, len(self)))
        with metering(path, len(content), self._problems) as reach:
            for row, start, end in layout.scan(path, content, self._problems):
                reach(start)
                yield row, start, end

    def keep(self, row: Row, start: int, end: int) -> None:
        """Add a row of the file that is scanned."""
        self._starts.append(start)
        self._ends.append(end)
        self._lines.append(row.line)

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, i: int) -> Row:
        path, content, layout, _ = self._file(i)
        return layout.parse(path, self._lines[i], content[self._starts[i] : self._ends[i]])

    def digest(self) -> str:
        """Return a digest of the files, as they are mapped, and of how they are read."""
        return digest(
            [
                [file.layout.parse.__qualname__, sha256(file.content).hexdigest()]
                for file in self._files
            ]
        )

    def locate(self, i: int) -> tuple[Path, int]:
        """Return the file and the line of a row."""
        return self._file(i).path, self._lines[i]

    def _file(self, i: int) -> _File:
        return self._files[bisect_right(self._files, i, key=lambda file: file.first) - 1]


def _find_plain(path: Path) -> Path:
    """Return `path`, or where its content lies unpacked."""
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
    """Return at which byte `content` is not UTF-8, None where all of it is."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for begin in range(0, len(content), PIECE):
        left = len(decoder.getstate()[0])
        try:
            decoder.decode(content[begin : begin + PIECE], begin + PIECE >= len(content))
        except UnicodeDecodeError as error:
            return begin - left + error.start
    return None
