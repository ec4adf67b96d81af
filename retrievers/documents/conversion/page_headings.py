"""Headings of a PDF by its fonts: lines that are larger than the body, or bold where it is not.

Nothing else of a page is told here: the text is that of the converter, whose lines are marked.
"""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pdfminer.layout import LTChar

LARGER = 1.12  # times the body's size, from which a line is a heading
LONGEST = 160  # characters of a heading
DEEPEST = 6
REPEATED = 3  # pages that begin or end with the same line: no heading, but a running title
LOOK_AHEAD = 60  # lines of the text in which a line of the page is looked for
MOST_HEADINGS = 0.3  # of the lines; where more stand out, size says nothing
BOLD = re.compile(r"bold|black|heavy|semibold|demi", re.I)
SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page: its text without spaces, size in points, whether all of it is bold.

    `block` is the number of the block it stands in, `alone` whether it is the only line there,
    `page` the number of its page, from 1.
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
    """Return the size of most letters, to half a point: what is set alike differs by less."""
    return Counter(round(item.size * 2) / 2 for item in letters).most_common(1)[0][0]


def _is_bold(letters: Iterable["LTChar"]) -> bool:
    return all(BOLD.search(item.fontname) for item in letters if item.get_text().strip())
