"""The sections of a Markdown document, found by a CommonMark parser."""

import re
from dataclasses import dataclass

FRONTMATTER = re.compile(r"\ufeff?---[ \t]*\r?\n.*?^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.S | re.M)


@dataclass(frozen=True, slots=True)
class Section:
    """Characters `start` to `end` under one heading; `body` is where the heading line ends.

    `headings` is the path of titles from the outermost heading down to the section's own, and is
    empty for text before the first heading.
    """

    start: int
    body: int
    end: int
    headings: tuple[str, ...]


def frontmatter_end(text: str) -> int:
    """Return the offset at which a YAML block at the head of `text` ends; 0 without one."""
    block = FRONTMATTER.match(text)
    return block.end() if block else 0


def split_sections(text: str) -> list[Section]:
    """Return the sections of `text` in order; together they cover it, frontmatter excepted.

    Headings inside code blocks, quotes and lists open no section.
    """
    from markdown_it import MarkdownIt

    begin = frontmatter_end(text)
    body = text[begin:]
    # The parser counts \n, \r\n and \r as line ends, and nothing else.
    starts = [begin, *(begin + match.end() for match in re.finditer(r"\r\n|\n|\r", body))]
    tokens = MarkdownIt("commonmark").parse(body)
    marks: list[tuple[int, int, int, str]] = []
    for token, inline in zip(tokens, tokens[1:], strict=False):
        if token.type == "heading_open" and token.level == 0 and token.map:
            first, last = token.map
            line_end = starts[last] if last < len(starts) else len(text)
            marks.append((starts[first], line_end, int(token.tag[1]), inline.content.strip()))
    if not marks or marks[0][0] > begin:
        marks.insert(0, (begin, begin, 0, ""))
    ends = [start for start, *_ in marks[1:]] + [len(text)]
    sections: list[Section] = []
    open_headings: list[tuple[int, str]] = []
    for (start, line_end, level, title), end in zip(marks, ends, strict=True):
        if level:
            open_headings = [heading for heading in open_headings if heading[0] < level]
            open_headings.append((level, title))
        if end > start:
            path = tuple(heading for _, heading in open_headings)
            sections.append(Section(start, line_end, end, path))
    return sections
