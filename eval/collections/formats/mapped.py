"""Passages that stay in their file: memory holds the offsets of their begin and end."""

import mmap
import shutil
from array import array
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path

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
UNPACKED_KIND = "unpacked"  # packed files that are mapped, by their digest
UNPACKED = "content"
PIECE = 1 << 20  # bytes


def is_large(path: Path, most: int) -> bool:
    """Return True if a file holds more than `most` bytes."""
    return measure(path) > most


def shelve(
    path: Path, make: Callable[[Row], Document], problems: Problems, plain: Path | None = None
) -> Mapping[str, Document]:
    """Return the documents, each one passage, that `make` makes of the rows of a file, by id.

    They stay in the JSON Lines file: memory holds the offsets at which each row begins and ends.
    Problems are reported as by a `Register`. `plain` is the file to read instead, if given.
    Raises AssayError if a row is broken, or an id is repeated.
    """
    shelf = _PassageFile(path, make, problems).read(plain)
    return ById(shelf, shelf.__getitem__)


class _PassageFile:
    """Passages in the rows of a file, each with an id of its own.

    The file is mapped into memory, one that is packed unpacked in the cache, and may not change
    while passages are in use. Ids and texts are known by hashes.
    """

    def __init__(self, path: Path, make: Callable[[Row], Document], problems: Problems) -> None:
        self._path = path
        self._make = make
        self._problems = problems
        self._content: bytes | mmap.mmap = b""
        self._starts, self._ends, self._lines = array("q"), array("q"), array("i")
        self._hashes = array("q")
        self._ids: dict[int, int] = {}
        self._echoes: Echoes[int] = Echoes("document", problems, lambda i: self._take(i).id)

    def read(self, plain: Path | None) -> PassageSequence[Document]:
        """Return the sequence of passages, read on access, in the order of the file."""
        with (
            telling(self._path, self._problems),
            (plain or _find_plain(self._path)).open("rb") as file,
        ):
            if file.seek(0, 2):  # what is empty cannot be mapped
                self._content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            with metering(self._path, len(self._content), self._problems) as reach:
                for row, start, end in self._scan():
                    reach(start)
                    with self._problems.of(row):
                        self._add(row, start, end)
        except AssayError:
            self._shelve()  # where an id is taken before, that is the first broken line
            raise
        return self._shelve()

    def _scan(self) -> Iterator[tuple[Row, int, int]]:
        """Yield each row with the bytes at which it begins and ends; report broken ones."""
        content, i, number = self._content, 0, 0
        while end := content.find(b"\n", i) + 1 or len(content) * (i < len(content)):
            number += 1
            try:
                line = decode_line(content[i:end], number)
                if line and not line.isspace():
                    yield parse_json_row(self._path, number, line), i, end
            except RowError as error:
                self._problems.error(self._path, number, str(error))
                if isinstance(error, EncodingError):
                    return
            i = end

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
            self._problems.error(self._path, self._lines[second], taken)
        return shelf

    def _take(self, i: int) -> Document:
        """Return a passage, read again. Raises AssayError if its row is now broken."""
        number = self._lines[i]
        try:
            line = decode_line(self._content[self._starts[i] : self._ends[i]], number)
            return self._make(parse_json_row(self._path, number, line))
        except (RowError, ValueError):
            raise AssayError(f"{self._path}:{number}: {CHANGED}") from None

    def _digest(self) -> str:
        """Return a digest of the file, as it is mapped, and of how it is read."""
        read = sha256(self._content).hexdigest()
        return digest(self._make.__module__, self._make.__qualname__, read)


def _find_plain(path: Path) -> Path:
    """Return `path`, or the file with its unpacked content."""
    if not is_packed(path):
        return path

    def unpack(folder: Path) -> None:
        with open_unpacked(path) as packed, (folder / UNPACKED).open("wb") as plain:
            shutil.copyfileobj(packed, plain, PIECE)

    folder = Cache(default_root()).folder(UNPACKED_KIND, digest_file(path), unpack)
    return folder.path / UNPACKED
