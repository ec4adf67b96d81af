"""Bounds of files from elsewhere: the length, count, depth and expansion that are read.

They are far above the sizes people write, and low enough that reading up to them takes seconds.
"""

import gzip
import io
import re
from pathlib import Path
from zipfile import ZipFile

from assay.retrievers.base import AssayError

MEGABYTE = 1 << 20
DOCUMENT = 256 * MEGABYTE
WHOLE = 2048 * MEGABYTE  # a file that is held in memory: a run, a table, a text
LINE = 64 * MEGABYTE  # a line, a message, an object of a stream
CELL = 250_000  # characters of a cell of questions
SETTINGS = MEGABYTE  # a text of YAML; a megabyte takes ten seconds
JSON_DEPTH = 200  # lists and objects within each other; pydantic reads as many
YAML_DEPTH = 100
HTML_DEPTH = 10_000  # elements within each other; browsers flatten more than 512
YAML_REPEATED = 100_000  # values that the aliases of a text stand for, all together
VALUE = 32  # bytes that count for a value of an object, in addition to its text
ROWS = 1 << 20  # of a sheet, as in Excel
CELLS = 10_000_000  # of a sheet, empty ones before others included
EXPANSION = 100  # times that a packed file may be larger when it is unpacked,
SMALL = 256 * MEGABYTE  # where it is larger than this
ARCHIVE = 512 * MEGABYTE  # all that an archive holds, unpacked
SMALL_ARCHIVE = 32 * MEGABYTE  # like SMALL; the contents of Office files are read far more slowly
MEMBERS = 10_000  # files in an archive that is one document
# CPU seconds of a conversion: a constant, and an amount for each megabyte of the file.
CONVERSION = 20
CONVERSION_PER_MEGABYTE = {".htm": 10, ".html": 10, ".pdf": 300}
CONVERSION_PER_MEGABYTE_PACKED = 40
# A tag of an element that has an end tag; the groups are the slashes of `</p>` and of `<p/>`.
TAG = re.compile(
    rb"<(/?)(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr|body|caption"
    rb"|colgroup|dd|dt|head|html|li|optgroup|option|p|rp|rt|tbody|td|tfoot|th|thead|tr)\b(?!-))"
    rb"[a-z][^<>]*?(/?)>",
    re.I,
)


class BoundError(AssayError):
    """A file exceeds a bound; `reason` is the message without the path."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.reason = reason


class _BoundedFile(io.RawIOBase):
    """A file that raises BoundError once more than `most` of its bytes are read."""

    def __init__(self, file: io.RawIOBase | gzip.GzipFile, most: int, error: BoundError) -> None:
        self._file = file
        self._left = most
        self._error = error

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read up to the length of `buffer`. Raises BoundError."""
        count = self._file.readinto(buffer) or 0
        self._left -= count
        if self._left < 0:
            raise self._error
        return count

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def open_bounded(path: Path, most: int | None = None, *, packed: bool = False) -> io.BufferedReader:
    """Open a file to read up to `most` bytes, unpacked if it is `packed` by gzip.

    Reading more, or a file packed beyond proportion, raises BoundError.
    """
    if not packed and most is None:
        return path.open("rb")
    unpacked = limit_unpacked(path) if packed else None
    if unpacked is None or (most is not None and most < unpacked):
        limit, reason = most or 0, f"holds more than {(most or 0) // MEGABYTE:,} MB"
    else:
        limit = unpacked
        reason = describe_unpacked(limit)
    file = gzip.GzipFile(path) if packed else io.FileIO(path)
    return io.BufferedReader(_BoundedFile(file, limit, BoundError(path, reason)), 1 << 17)


def limit_unpacked(path: Path) -> int:
    """Return the most bytes that a packed file may hold."""
    return max(SMALL, EXPANSION * path.stat().st_size)


def describe_unpacked(limit: int) -> str:
    """Return the message that a packed file holds more than its limit."""
    return f"unpacks to more than {limit // MEGABYTE:,} MB, over {EXPANSION} times its size"


def check_archive(archive: ZipFile, size: int) -> str:
    """Return why a document that is an archive of `size` bytes is refused, "" if it is not.

    The sizes that members declare suffice: zipfile unpacks no more of one.
    """
    members = archive.infolist()
    if len(members) > MEMBERS:
        return f"holds {len(members):,} files; at most {MEMBERS:,} are read"
    unpacked = sum(member.file_size for member in members)
    allowed = min(ARCHIVE, max(SMALL_ARCHIVE, EXPANSION * size))
    if unpacked > allowed:
        return f"unpacks to {unpacked // MEGABYTE} MB; at most {allowed // MEGABYTE} MB are read"
    return ""


def check_text(characters: int, size: int) -> str:
    """Return why the text of a converted file of `size` bytes is refused, "" if it is not."""
    allowed = max(SMALL_ARCHIVE, EXPANSION * size)
    if characters <= allowed:
        return ""
    return f"gives {characters:,} characters, over {EXPANSION} times its size"


def check_page(data: bytes) -> str:
    """Return why an HTML page is refused before it is parsed, "" if it is not.

    Elements that may lack their end tag do not count: they need not be within each other.
    """
    depth = 0
    for tag in TAG.finditer(data):
        depth = max(depth - 1, 0) if tag[1] else depth + (not tag[2])
        if depth > HTML_DEPTH:
            return f"nests elements over {HTML_DEPTH:,} deep; fewer are read"
    return ""


def limit_conversion(suffix: str, size: int) -> int:
    """Return the most CPU seconds that converting a file of `size` bytes may take."""
    rate = CONVERSION_PER_MEGABYTE.get(suffix, CONVERSION_PER_MEGABYTE_PACKED)
    return CONVERSION + rate * size // MEGABYTE


def check_cell(place: str, name: str, text: str) -> None:
    """Raise AssayError if a cell of a table at `place`, in column `name`, is too long."""
    if len(text) > CELL:
        raise AssayError(
            f"{place}: the {name} has {len(text):,} characters; at most {CELL:,} are read"
        )
