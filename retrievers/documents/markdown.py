"""Reading Markdown with markdown-it-py: tokens, offsets of lines, links and wikilinks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

# What CommonMark ends a line at, and nothing else.
LINE_END = re.compile(r"\r\n|\n|\r")
WIKILINK = re.compile(r"\[\[([^\[\]|\n]+)(?:\|([^\[\]\n]+))?\]\]")


@dataclass(frozen=True, slots=True)
class LinkToken:
    """A link with the first line of its block and the line after its last."""

    target: str
    text: str
    first: int
    last: int
    wiki: bool


def tokenize(text: str) -> "list[Token]":
    """Return the block tokens of `text`; inline tokens are their children."""
    return _parser().parse(text)


def line_starts(text: str, begin: int) -> list[int]:
    """Return the offset of every line of `text` from `begin`, and the end of the text."""
    starts = [begin, *(match.end() for match in LINE_END.finditer(text, begin))]
    return starts if starts[-1] == len(text) else [*starts, len(text)]


def plain_text(inline: "Token") -> str:
    """Return what an inline token reads as, without its markup."""
    parts = []
    for child in inline.children or []:
        if child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif child.type in ("text", "code_inline", "image", "wikilink"):
            parts.append(child.content)
    return "".join(parts)


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


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.inline.ruler.before("link", "wikilink", _read_wikilink)
    return parser


def _read_wikilink(state: "StateInline", silent: bool) -> bool:
    match = WIKILINK.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        token = state.push("wikilink", "", 0)
        token.content = (match[2] or match[1]).strip()
        token.meta = {"target": match[1].strip()}
    state.pos = match.end()
    return True
