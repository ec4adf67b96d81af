"""Where the pages of a PDF begin in the text that was made of it, by what stands on each alone.

A converter may join lines, make tables of them and order them otherwise; it keeps the pages' order.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from assay.retrievers.documents.conversion.page_headings import Line

TELLING = 12  # letters and digits that a line has at least to tell where it stands
SLACK = 1.25  # how much more than a page has may come before its end is reached
FEW = 100  # letters and digits of a page, up to which it need not be found


def find_pages(text: str, lines: Iterable[Line]) -> list[int]:
    """Return the offset in `text` at which each page begins, a blank one where the next does.

    Of a page and the next, what both have, as a running title, may count for either. Nothing is
    returned where half of a page with more than a few words is not found.
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
    """Return where the last of the `lines` ends that stand in this part of `letters` once."""
    end = begin
    for line in lines:
        if len(line) >= TELLING and (at := letters.find(line, begin, stop)) >= 0:
            again = letters.find(line, at + 1, stop)
            end = end if again >= 0 else max(end, at + len(line))
    return end


def _line_after(text: str, places: Sequence[int], number: int) -> int:
    """Return the offset of the line after that of letter `number`, from 1; 0 for the first line."""
    return (text.find("\n", places[number - 1]) + 1 or len(text)) if number else 0
