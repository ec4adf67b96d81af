"""Spans that cannot be an answer: a heading alone, and frontmatter, which is not searched."""

from collections.abc import Iterable, Mapping

from assay.retrievers.base import Document
from assay.retrievers.base.frontmatter import read_frontmatter
from assay.retrievers.base.markdown import is_plain, read_headings


def find_answer_end(document: Document, start: int, end: int) -> int | None:
    """Return `find_text_end` of a document; None for plain text, which has no headings."""
    return None if is_plain(document.id) else find_text_end(document.text, start, end)


def find_text_end(text: str, start: int, end: int) -> int | None:
    """Return the end of the text below a heading, if `start` to `end` is that heading alone.

    That is the text up to the next heading or, if another heading follows at once, the text below
    that one, if it is still in the section of the first. It is None if the span holds more than
    headings, or only some words of one (a look-up may mean a name in it), or if no text follows.
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


def find_unsearched(document: Document) -> int:
    """Return the end of a document's frontmatter, 0 if it has none or it is searched."""
    if is_plain(document.id) or not document.text.startswith(("---", "\ufeff---")):
        return 0
    about = read_frontmatter(document.text)
    alone = about.text and not document.text[about.end :].strip()
    return 0 if alone or not about.metadata else about.end


def is_unsearched(document: Document, start: int, end: int) -> bool:
    """Return True if more than half of a span lies in frontmatter that is not searched."""
    return 2 * (find_unsearched(document) - start) > end - start


def describe_unsearched(documents: Iterable[Document]) -> str:
    """Return words on the documents whose frontmatter is not searched, "" if there are none."""
    names = [document.id for document in documents if find_unsearched(document)]
    if not names:
        return ""
    whose = "one document" if len(names) == 1 else f"{len(names):,} documents"
    return (
        f'the frontmatter of {whose} is not searched (first: "{names[0]}"), unless a pipeline sets '
        "documents.frontmatter to text or chunk"
    )


def describe_frontmatter(documents: Mapping[str, Document]) -> tuple[str, ...]:
    """Return notes on frontmatter of the documents that is not searched, or is read as text."""
    broken = [
        f"{name}: {note}"
        for name, document in documents.items()
        if not is_plain(name) and (note := read_frontmatter(document.text).note)
    ]
    return (*broken, *filter(None, [describe_unsearched(documents.values())]))
