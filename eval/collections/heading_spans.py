"""Judged spans that are a heading alone, though the text that answers stands below it."""

from assay.retrievers.base import Document
from assay.retrievers.base.markdown import is_plain, read_headings


def find_answer_end(document: Document, start: int, end: int) -> int | None:
    """Return as `find_text_end` does of a document; None of plain text, which has no headings."""
    return None if is_plain(document.id) else find_text_end(document.text, start, end)


def find_text_end(text: str, start: int, end: int) -> int | None:
    """Return where the text below a heading ends, if `start` to `end` is that heading alone.

    That is the text up to the next heading or, where another heading follows at once, the text
    below that one, if it is still in the section of the first. None where the span holds more than
    headings, or but words of one (a look-up may mean a name that stands there), and where no text
    stands below.
    """
    headings = read_headings(text)
    first = next((i for i, item in enumerate(headings) if start < item.body), None)
    if first is None or end <= headings[first].start or text[headings[first].start : start].strip():
        return None
    last = first
    while last + 1 < len(headings) and headings[last + 1].start < end:
        if text[headings[last].body : headings[last + 1].start].strip():
            return None
        last += 1
    body = headings[last].body
    if text[start : headings[first].start].strip() or text[min(end, body) : max(end, body)].strip():
        return None
    section = headings[first].end
    for i, item in enumerate(headings[last:], last + 1):
        following = headings[i].start if i < len(headings) else len(text)
        if own := text[item.body : following].rstrip():
            return item.body + len(own)
        if following >= section:
            break
    return None
