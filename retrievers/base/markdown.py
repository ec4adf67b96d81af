"""Reading Markdown with markdown-it-py: tokens, offsets of lines, headings, links, wikilinks."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from assay.retrievers.base.frontmatter import frontmatter_end

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

# The line ends of CommonMark, and no others.
LINE_END = re.compile(r"\r\n|\n|\r")
TEXT_SUFFIX = ".txt"
SIGNS = " ¶\u200b"  # what page generators put after a heading
WIKILINK = re.compile(r"\[\[([^\[\]|\n]+)(?:\|([^\[\]\n]+))?\]\]")


@dataclass(frozen=True, slots=True)
class LinkToken:
    """A link with the first line of its block and the line after its last."""

    target: str
    text: str
    first: int
    last: int
    wiki: bool


@dataclass(frozen=True, slots=True)
class Heading:
    """Characters `start` to `end` under one heading, the heading itself included, up to the next
    of the same or a higher level. `body` is where the heading line ends, `title` its text without
    markup.
    """

    title: str
    level: int
    start: int
    body: int
    end: int


def is_plain(path: str) -> bool:
    """Return True if the document at `path` is plain text, in which `#` opens no heading."""
    return path.lower().endswith(TEXT_SUFFIX)


def find_title(path: str, text: str, metadata: Mapping[str, Any]) -> str:
    """Return the title in the frontmatter, else the first top heading, else the file's stem."""
    if isinstance(metadata.get("title"), str) and metadata["title"].strip():
        return str(metadata["title"]).strip()
    headings = () if is_plain(path) else read_headings(text)
    top = (heading.title for heading in headings if heading.level == 1 and heading.title)
    return next(top, PurePosixPath(path).stem)


@lru_cache(maxsize=256)
def read_headings(text: str) -> tuple[Heading, ...]:
    """Return the headings of a Markdown document in order."""
    begin = frontmatter_end(text)
    tokens = tokenize(text[begin:], headings_alone=True)
    return tuple(find_headings(tokens, line_starts(text, begin)))


def find_headings(tokens: "Sequence[Token]", starts: Sequence[int]) -> list[Heading]:
    """Return the headings among `tokens`, whose lines begin at `starts`, in order.

    Headings inside quotes, lists and code open no section and are left out.
    """
    found = []
    # By level, where the next heading that ends a section of this level begins.
    ends = [starts[-1]] * 7
    for inline, token in pairwise(reversed(tokens)):
        if token.type == "heading_open" and token.level == 0 and token.map:
            level, (first, last) = int(token.tag[1]), token.map
            title = plain_text(inline).strip()
            found.append(Heading(title, level, starts[first], starts[last], ends[level]))
            ends[level:] = [starts[first]] * (7 - level)
    return found[::-1]


def tokenize(text: str, *, headings_alone: bool = False) -> "list[Token]":
    """Return the block tokens of `text`; inline tokens are their children.

    With `headings_alone` only those of headings that open a section, in a quarter of the time.
    """
    # A byte order mark would keep the first line from being a heading; a space does not.
    return _parser(headings_alone).parse(f" {text[1:]}" if text.startswith("\ufeff") else text)


def line_starts(text: str, begin: int) -> list[int]:
    """Return the offset of every line of `text` from `begin`, and the end of the text."""
    starts = [begin, *(match.end() for match in LINE_END.finditer(text, begin))]
    return starts if starts[-1] == len(text) else [*starts, len(text)]


def plain_text(inline: "Token") -> str:
    """Return the text of an inline token, without its markup, and without links to itself that
    show but a sign, such as ¶.
    """
    parts: list[str] = []
    opened = 0
    for child in inline.children or []:
        if child.type == "link_open":
            opened = len(parts) if str(child.attrs["href"]).startswith("#") else len(inline.content)
        elif child.type == "link_close" and not any(map(str.isalnum, "".join(parts[opened:]))):
            del parts[opened:]
        elif child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif child.type in ("text", "code_inline", "image", "wikilink"):
            parts.append(child.content)
    text = "".join(parts)
    return text.rstrip(SIGNS) or text


def read_links(tokens: "list[Token]") -> Iterator[LinkToken]:
    """Yield the links and wikilinks in order."""
    for token in tokens:
        if token.type != "inline" or token.map is None:
            continue
        first, last = token.map
        target, text = "", ""
        for child in token.children or []:
            if child.type == "link_open":
                target, text = str(child.attrs["href"]), ""
            elif child.type == "link_close":
                yield LinkToken(target, text, first, last, wiki=False)
            elif child.type == "wikilink":
                yield LinkToken(child.meta["target"], child.content, first, last, wiki=True)
            text += child.content


def read_wikilink(state: "StateInline", silent: bool) -> bool:
    """Read `[[target]]` or `[[target|text]]`, as a rule of markdown-it."""
    match = WIKILINK.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        token = state.push("wikilink", "", 0)
        token.content = (match[2] or match[1]).strip()
        token.meta |= {"target": match[1].strip(), "end": match.end()}
    state.pos = match.end()
    return True


@cache
def _parser(headings_alone: bool) -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    if headings_alone:
        parser.core.ruler.at("inline", _read_headings_inline)
    parser.inline.ruler.before("link", "wikilink", read_wikilink)
    return parser


def _read_headings_inline(state: "StateCore") -> None:
    """Read the inline tokens of headings that open a section, and leave all others unread."""
    for opening, token in pairwise(state.tokens):
        if opening.type == "heading_open" and opening.level == 0:
            token.children = []
            state.md.inline.parse(token.content, state.md, state.env, token.children)
