"""Reading the files of a collection line by line, reporting each line that is broken."""

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING

from assay.eval.collections.formats.rows import LARGEST, Row, RowError, parse_json_row
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError, Progress, Quiet, bounds, cut
from assay.retrievers.base.bounds import BoundError, open_bounded

GZIP = ".gz"
MAGIC = b"\x1f\x8b"  # what begins each file of gzip
SHOWN = 200  # characters of a name or of names
PACKING = 4  # by which packed texts are smaller, about
NOT_UTF_8 = "not UTF-8; files must be in UTF-8, as `iconv -f ENCODING -t UTF-8` writes them"
CHANGED = "has changed since it was read; run again, and leave the files as they are meanwhile"
if TYPE_CHECKING:
    from _csv import Reader

DELIMITERS = ",;\t"
SEPARATOR = re.compile(r"\"?sep=(.)\"?\r?\n", re.IGNORECASE)
SHOWN = 40  # characters of a cell that is refused
BEIR_COLUMNS = ("query-id", "corpus-id", "score")
MEGABYTE = 1 << 20
SHOWN_FROM = 16 * MEGABYTE  # bytes whose reading takes about a second


class EncodingError(RowError):
    """A line is not UTF-8, and what follows it may not be either."""


def read_text(path: Path, problems: Problems, *, encoding: str = "utf-8-sig") -> str:
    """Return the text of `path`, unpacked if it is packed, line ends as they are; report it and
    return "" if unreadable.
    """
    text = ""
    with telling(path, problems), open_unpacked(path, bounds.WHOLE) as file:
        text += file.read().decode(encoding)
    return text


@contextmanager
def telling(path: Path, problems: Problems) -> Iterator[None]:
    """Report the reason if the content of `path` cannot be read in this block."""
    try:
        yield
    except FileNotFoundError:
        problems.error(path, 0, "there is no such file")
    except UnicodeDecodeError as error:
        problems.error(path, error.object.count(b"\n", 0, error.start) + 1, NOT_UTF_8)
    except BoundError as error:
        problems.error(path, 0, error.reason)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        problems.error(path, 0, f"cannot be unpacked: {error}")
    except OSError as error:
        problems.error(path, 0, f"cannot be read: {error.strerror}")


def choose_progress(size: int, problems: Problems) -> Progress:
    """Return the progress that shows the reading of `size` bytes: none if they are few."""
    return problems.progress if size >= SHOWN_FROM else Quiet()


@contextmanager
def metering(path: Path, size: int, problems: Problems) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the number of a file's `size` bytes read so far and shows it."""
    total = size // MEGABYTE
    progress = choose_progress(size, problems)
    bar = progress.track(range(total), f"reading {path.name}, MB", total)
    next(bar, None)
    shown = 0

    def reach(i: int) -> None:
        nonlocal shown
        while shown < i // MEGABYTE:
            shown += 1
            next(bar, None)

    try:
        yield reach
        reach(size)
    finally:
        if isinstance(bar, Generator):  # a bar is removed before an error is reported
            bar.close()


def open_unpacked(path: Path, most: int | None = None) -> BufferedReader:
    """Open a file to be read, unpacked if it is packed; see `is_packed` and `open_bounded`."""
    return open_bounded(path, most, packed=is_packed(path))


def is_packed(path: Path) -> bool:
    """Return True if a file is packed by gzip, by its name or else by its content."""
    if path.suffix == GZIP:
        return True
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def measure(path: Path) -> int:
    """Return the bytes of a file's unpacked content, 0 without a file; a guess if it is packed."""
    if not path.is_file():
        return 0
    return path.stat().st_size * (PACKING if is_packed(path) else 1)


def find_suffix(path: Path) -> str:
    """Return the suffix of `path` without that of gzip: `.jsonl` for `corpus.jsonl.gz`."""
    return (path.with_suffix("") if path.suffix == GZIP else path).suffix


def read_lines(path: Path, problems: Problems) -> Iterator[tuple[int, str]]:
    """Yield (number, line) of every line of `path` that is not blank, up to one that is broken."""
    with (
        telling(path, problems),
        open_unpacked(path) as file,
        metering(path, measure(path), problems) as reach,
    ):
        i = 0
        lines = iter(partial(file.readline, bounds.LINE + 1), b"")
        for number, content in enumerate(lines, start=1):
            i += len(content)
            reach(i)
            try:
                line = decode_line(content, number)
            except RowError as error:
                problems.error(path, number, str(error))
                return
            if line and not line.isspace():
                yield number, line


def decode_line(content: bytes, number: int) -> str:
    """Return line `number` of a file without its end, the first without a byte-order mark.

    Raises RowError where it is too long, EncodingError where it is not UTF-8.
    """
    if len(content) > bounds.LINE:
        raise RowError(f"a line of more than {bounds.LINE // bounds.MEGABYTE} MB")
    try:
        return content.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise EncodingError(NOT_UTF_8) from None


def read_jsonl(path: Path, problems: Problems) -> Iterator[Row]:
    """Yield the rows of a JSON Lines file."""
    for number, line in read_lines(path, problems):
        try:
            yield parse_json_row(path, number, line)
        except RowError as error:
            problems.error(path, number, str(error))


def split_table(text: str, *, strict: bool = False) -> "Reader":
    """Return a reader of the rows of a table; its first line shows the delimiter of cells.

    That line is the header, or the line `sep=;` which Excel reads and writes before it.
    """
    csv.field_size_limit(bounds.LINE)  # its own limit is less than a document
    told = SEPARATOR.match(text)
    delimiter = told[1] if told else max(DELIMITERS, key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=strict)
    if told:
        next(reader)
    return reader


def read_columns(place: str, header: Sequence[str]) -> list[str]:
    """Return the names of a table's columns. Raises AssayError for one that stands twice."""
    names = [name.strip().casefold() for name in header]
    twice = next((name for name, times in Counter(names).items() if name and times > 1), None)
    if twice is not None:
        raise AssayError(f'{place}: the column "{cut(twice, SHOWN)}" stands twice')
    return names


def pair_cells(place: str, names: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    """Return the cells of a row by column. Raises AssayError where it has more than the header."""
    if any(cell.strip() for cell in cells[len(names) :]):
        raise AssayError(
            f"{place}: {len(cells)} cells, where the header has {len(names)}; a cell that holds "
            "the delimiter must stand in quotation marks"
        )
    return dict(zip(names, cells, strict=False))


def read_beir_qrels(path: Path, problems: Problems) -> Iterator[Row]:
    """Yield the rows (`query_id`, `target`, `grade`) of tab-separated judgments with a header."""
    lines = read_lines(path, problems)
    number, header = next(lines, (1, ""))
    if tuple(header.split("\t")) != BEIR_COLUMNS:
        columns = ", ".join(BEIR_COLUMNS)
        problems.error(path, number, f"the first line must be the header {columns}, tab-separated")
        return
    for number, line in lines:
        yield from _parse_judgment(path, number, line.split("\t"), BEIR_COLUMNS, problems)


def read_trec_qrels(path: Path, problems: Problems) -> Iterator[Row]:
    """Yield the rows (`query_id`, `target`, `grade`) of a TREC qrels file of four columns."""
    columns = ("query", "iteration", "document", "grade")
    for number, line in read_lines(path, problems):
        yield from _parse_judgment(path, number, line.split(), columns, problems)


def _parse_judgment(
    path: Path, number: int, cells: list[str], columns: tuple[str, ...], problems: Problems
) -> Iterator[Row]:
    if len(cells) != len(columns):
        wanted = ", ".join(columns)
        problems.error(
            path, number, f"{len(cells)} columns; there must be {len(columns)}: {wanted}"
        )
        return
    try:
        grade = float(cells[-1])
    except ValueError:
        grade = nan
    if not grade.is_integer() or abs(grade) > LARGEST:
        told = cut(cells[-1], SHOWN)
        wanted = f"a whole number of at most {LARGEST:,}"
        problems.error(path, number, f"{columns[-1]} must be {wanted}, not {told!r}")
        return
    yield Row(path, number, {"query_id": cells[0], "target": cells[-2], "grade": int(grade)})
