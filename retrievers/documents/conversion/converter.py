"""The process that converts: one request after another, until there are no more.

`conversion` starts it as `python -m assay.retrievers.documents.conversion.converter`. It may be
killed at any moment. A request is a line of JSON, `{"suffix": ".pdf", "size": 1234, "seconds": 9}`,
and as many bytes; it ends the process if it takes more seconds of CPU. An answer is a line of
JSON: `text`, `title`, `pages` (the offset of each in the text, none if not known), `notes` on the
parts left out and `seconds`; or a `reason` why there is no text.
"""

import contextlib
import io
import json
import math
import os
import re
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from assay.retrievers.documents.conversion.encodings import NotTextError, decode

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from pdfminer.layout import LTChar


REVISION = 1  # raise it when files are converted differently
LARGER = 1.12  # times the body's size, from which a line is a heading
LONGEST = 160  # characters of a heading
DEEPEST = 6
REPEATED = 3  # pages that begin or end with the same line: no heading, but a running title
LOOK_AHEAD = 60  # lines of the text in which a line of the page is looked for
MOST_HEADINGS = 0.3  # share of the lines; if more are larger, size means nothing
BOLD = re.compile(r"bold|black|heavy|semibold|demi", re.I)
SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page: its text without spaces, size in points, whether all of it is bold.

    `block` is the number of its block, `alone` is true if it is the only line of that, `page` is
    the number of its page, from 1.
    """

    text: str
    size: float
    bold: bool
    block: int
    alone: bool
    page: int


def mark_headings(markdown: str, lines: Sequence[Line]) -> str:
    """Return the text `markdown` of a PDF of these `lines` with its headings marked by level.

    The largest size is level 1. A line that is only bold must stand alone, and is one level below
    the smallest size.
    """
    levels = _find_levels(lines)
    if not levels:
        return markdown
    found = markdown.split("\n")
    bare = [SPACES.sub("", line) for line in found]
    i = head = 0
    above: Line | None = None  # the heading that ends where `line` may begin
    for line in lines:
        place = next(
            (n for n in range(i, min(i + LOOK_AHEAD, len(bare))) if bare[n] == line.text), None
        )
        if place is None:
            continue
        text, i = found[place].strip(), place + 1
        if line not in levels:
            above = None
            continue
        if above and (above.block, above.size) == (line.block, line.size):
            found[head] = f"{found[head].rstrip()} {text}\n"
            found[place] = ""
        else:
            found[place] = f"\n{'#' * levels[line]} {text}\n"
            head = place
        above = line
    return "\n".join(found)


def _find_levels(lines: Sequence[Line]) -> dict[Line, int]:
    sizes = Counter[float]()
    bold = 0
    for line in lines:
        sizes[line.size] += len(line.text)
        bold += len(line.text) * line.bold
    if not sizes:
        return {}
    body = max(sizes, key=lambda size: sizes[size])
    is_plain = bold < sum(sizes.values()) / 2
    times = Counter(line.text for line in lines)
    headings = [
        line
        for line in lines
        if (line.size >= body * LARGER or (is_plain and line.bold and line.alone))
        and len(line.text) <= LONGEST
        and any(map(str.isalpha, line.text))
        and times[line.text] < REPEATED
    ]
    if len(headings) > len(lines) * MOST_HEADINGS and len(lines) > DEEPEST:
        return {}
    larger = sorted({line.size for line in headings if line.size >= body * LARGER}, reverse=True)
    ranks = {size: rank for rank, size in enumerate(larger, start=1)}
    return {line: min(ranks.get(line.size, len(larger) + 1), DEEPEST) for line in headings}


def read_lines(data: bytes) -> Iterator[Line]:
    """Yield the lines of the PDF `data` that have letters, page by page."""
    from pdfminer.high_level import extract_pages
    from pdfminer.layout import LTChar, LTTextContainer, LTTextLine

    pages = enumerate(extract_pages(io.BytesIO(data)), start=1)
    blocks = ((page, block) for page, blocks in pages for block in blocks)
    for number, (page, block) in enumerate(blocks):
        if not isinstance(block, LTTextContainer):
            continue
        lines: list[LTTextLine] = [item for item in block if isinstance(item, LTTextLine)]
        for line in lines:
            text = SPACES.sub("", line.get_text())
            letters = [item for item in line if isinstance(item, LTChar)]
            if text and letters:
                alone = len(lines) == 1
                yield Line(text, _size(letters), _is_bold(letters), number, alone, page)


def _size(letters: Iterable["LTChar"]) -> float:
    """Return the size of most letters, to half a point: letters of one style differ by less."""
    return Counter(round(item.size * 2) / 2 for item in letters).most_common(1)[0][0]


def _is_bold(letters: Iterable["LTChar"]) -> bool:
    return all(BOLD.search(item.fontname) for item in letters if item.get_text().strip())


BYTES_OF_MEMORY = 2 << 30
TOO_LONG = 24  # the number of SIGXCPU, which Windows lacks
MARKITDOWN = {
    ".docx": "DocxConverter",
    ".epub": "EpubConverter",
    ".pdf": "PdfConverter",
    ".pptx": "PptxConverter",
}
HTML = (".htm", ".html")
# Read by modules of this package: text, but for the workbooks.
WORKBOOKS = (".xlsx",)
WRITTEN = (".csv", ".ipynb", ".mdx", ".rst", ".tsv")
SUFFIXES = tuple(sorted((*MARKITDOWN, *HTML, *WORKBOOKS, *WRITTEN)))
# A table needs a head in Markdown: its first row if the document names none.
TABLES = {"table_infer_header": True}
TOO_DEEP = "its elements nest too deep; taken as plain text, without headings and tables"
BLANK_LINES = re.compile(r"\n{3,}")
LINE_TAILS = re.compile(r"(?<![^\S\n])[^\S\n]+$", re.M)


def main() -> None:
    """Answer the requests on standard input."""
    # Whatever the libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
    warnings.simplefilter("ignore")
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    _limit_memory()
    for line in iter(sys.stdin.buffer.readline, b""):
        request = json.loads(line)
        _limit_time(request["seconds"])
        answer = _convert(request["suffix"], sys.stdin.buffer.read(request["size"]))
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _convert(suffix: str, data: bytes) -> dict[str, Any]:
    begin = time.perf_counter()
    pages: list[int] = []
    try:
        text, title, notes = _read(suffix, data)
        text = tidy(text)
        if suffix == ".pdf":
            lines = list(read_lines(data))
            text = tidy(mark_headings(text, lines))
            pages = find_pages(text, lines)
    except MemoryError:
        return {"reason": f"needs more than {BYTES_OF_MEMORY >> 30} GB of memory to convert"}
    except NotTextError as error:
        return {"reason": str(error)}
    except Exception as error:  # each format has libraries, and errors, of its own
        return {"reason": _explain(error)}
    seconds = time.perf_counter() - begin
    return {"text": text, "title": title, "pages": pages, "notes": notes, "seconds": seconds}


def _read(suffix: str, data: bytes) -> tuple[str, str, Sequence[str]]:
    """Return the Markdown of a file, its title, and notes on the parts left out."""
    from assay.retrievers.documents.conversion import (
        furniture,
        mdx,
        notebooks,
        restructured,
        sheets,
    )

    if suffix in WORKBOOKS:
        text, notes = sheets.read_workbook(data)
        return text, "", notes
    if suffix in HTML:
        return _write_page(furniture.parse_page(data))
    if suffix not in WRITTEN:
        return *_ask_markitdown(suffix, data), ()
    text, _ = decode(data)
    text = text.removeprefix("\ufeff")
    if suffix == ".rst":
        return _write_page(furniture.parse(restructured.read_restructured(text)))
    read = {".ipynb": notebooks.read_notebook, ".mdx": mdx.read_mdx}.get(suffix, sheets.read_values)
    return read(text), "", ()


def _write_page(soup: "BeautifulSoup") -> tuple[str, str, Sequence[str]]:
    """Return the Markdown of a page, its title, and a note if it nests too deep to be written."""
    for item in soup(["script", "style"]):
        item.extract()
    body = soup.find("body") or soup
    title = (soup.title.string if soup.title else "") or ""
    try:
        return _make_writer()(**TABLES).convert_soup(body), title, ()
    except RecursionError:
        return body.get_text("\n", strip=True), title, (TOO_DEEP,)


def _ask_markitdown(suffix: str, data: bytes) -> tuple[str, str]:
    # The converters are called by themselves: markitdown as a whole would try others where one
    # fails, and take a broken document for a ZIP archive or for plain text.
    from markitdown import StreamInfo, converters
    from markitdown.converters import _html_converter

    vars(_html_converter)["_CustomMarkdownify"] = _make_writer()
    converter = getattr(converters, MARKITDOWN[suffix])()
    result = converter.convert(io.BytesIO(data), StreamInfo(extension=suffix), **TABLES)
    return result.markdown, result.title or ""


@cache
def _make_writer() -> Any:
    from markitdown.converters import _markdownify

    from assay.retrievers.documents.conversion import tables

    class Markdownify(_markdownify._CustomMarkdownify):
        """markitdown's writer of Markdown, for pages and for formats that become pages first."""

        def convert_soup(self, soup: Any) -> str:
            tables.prepare_tables(soup)
            return str(super().convert_soup(soup))

    return Markdownify


def tidy(text: str) -> str:
    """Return `text` as markitdown leaves it, without page breaks and characters not in UTF-8."""
    text = text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\f", "")
    return BLANK_LINES.sub("\n\n", LINE_TAILS.sub("", text)).strip()


def _explain(error: BaseException) -> str:
    chain = [error, error.__cause__, error.__context__]
    if any("Password" in type(item).__name__ for item in chain):
        return "is protected by a password"
    said = " ".join(str(error).split()) or "no reason given"
    return f"cannot be converted: {type(error).__name__}: {said[:200]}"


def _limit_memory() -> None:
    """Make allocation fail beyond the limit, if the system can; else time is the limit."""
    if sys.platform == "linux":
        import resource

        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_DATA, (BYTES_OF_MEMORY, BYTES_OF_MEMORY))


def _limit_time(seconds: int) -> None:
    """End this process by TOO_LONG after this many more CPU seconds, if the system can."""
    if sys.platform in ("linux", "darwin"):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = math.ceil(used.ru_utime + used.ru_stime) + seconds
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(ValueError):  # the system has a lower one
            hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
            resource.setrlimit(resource.RLIMIT_CPU, (limit, hard))


TELLING = 12  # the fewest letters and digits by which a line can be located
SLACK = 1.25  # how much more than a page has may come before its end is reached
FEW = 100  # letters and digits of a page, up to which it need not be found


def find_pages(text: str, lines: Iterable[Line]) -> list[int]:
    """Return the offset in `text` at which each page begins, a blank one where the next does.

    Text that is on both a page and the next, as a running title, may count for either. The list is
    empty if half of a page with more than a few words is not found.
    """
    pages: dict[int, list[str]] = defaultdict(list)
    for line in lines:
        pages[line.page].append("".join(filter(str.isalnum, line.text)))
    places = [i for i, letter in enumerate(text) if letter.isalnum()]
    letters = "".join(text[i] for i in places)
    begin, starts = 0, []
    for page in range(1, max(pages, default=0) + 1):
        starts.append(_line_after(text, places, begin))
        size = sum(map(len, pages[page]))
        end = _find_end(letters, pages[page], begin, begin + int(SLACK * size) + FEW)
        if size > FEW and end - begin < size / 2:
            return []
        begin = end
    return starts


def _find_end(letters: str, lines: Sequence[str], begin: int, stop: int) -> int:
    """Return the end of the last of the `lines` that occur once in this part of `letters`."""
    end = begin
    for line in lines:
        if len(line) >= TELLING and (at := letters.find(line, begin, stop)) >= 0:
            again = letters.find(line, at + 1, stop)
            end = end if again >= 0 else max(end, at + len(line))
    return end


def _line_after(text: str, places: Sequence[int], number: int) -> int:
    """Return the offset of the line after that of letter `number`, from 1; 0 for the first line."""
    return (text.find("\n", places[number - 1]) + 1 or len(text)) if number else 0


if __name__ == "__main__":
    main()
