"""What a judged document says of itself: frontmatter, title, headings and their sections."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it.token import Token

FRONTMATTER = re.compile(
    r"\ufeff?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.S | re.M
)
LINE_END = re.compile(r"\r\n|\n|\r")  # what CommonMark ends a line at
TITLE_OR_FENCE = re.compile(r"^ {0,3}(?:(#)[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*|(`{3,}|~{3,}).*)$", re.M)
TEXT_SUFFIX = ".txt"


@dataclass(frozen=True, slots=True)
class Section:
    """Characters `start` to `end` under one heading, the heading itself included, up to the next
    heading of the same or a higher level. `title` is the heading's text without its markup.
    """

    title: str
    level: int
    start: int
    end: int


def is_plain(path: str) -> bool:
    """Say whether the document at `path` is plain text, in which `#` opens no heading."""
    return path.lower().endswith(TEXT_SUFFIX)


def parse_frontmatter(text: str) -> dict[str, Any]:
    """Return the YAML block at the head of `text` as JSON values; empty without a valid one."""
    import yaml

    block = FRONTMATTER.match(text)
    if block is None:
        return {}
    try:
        values = yaml.safe_load(block[1])
    except yaml.YAMLError:
        return {}
    if not isinstance(values, dict):
        return {}
    # Dates and other values that JSON lacks become strings.
    metadata: dict[str, Any] = json.loads(json.dumps(_with_string_keys(values), default=str))
    return metadata


def find_title(path: str, text: str, metadata: dict[str, Any]) -> str:
    """Return the title in the frontmatter, else the first `# ` heading, else the file's stem."""
    if isinstance(metadata.get("title"), str) and metadata["title"].strip():
        return str(metadata["title"]).strip()
    heading = "" if is_plain(path) else _first_heading(text)
    return heading or PurePosixPath(path).stem


@lru_cache(maxsize=256)
def find_sections(text: str) -> tuple[Section, ...]:
    """Return the sections of a Markdown text in order. Headings inside quotes, lists and code
    open none.
    """
    from markdown_it import MarkdownIt

    block = FRONTMATTER.match(text)
    begin = block.end() if block else 0
    starts = [begin, *(match.end() for match in LINE_END.finditer(text, begin))]
    tokens = MarkdownIt("commonmark").parse(text[begin:])
    heads = []
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            title = "".join(_plain(child) for child in inline.children or [])
            heads.append((starts[token.map[0]], int(token.tag[1]), title.strip()))
    return tuple(_close_sections(heads, len(text)))


def _plain(child: "Token") -> str:
    if child.type in ("text", "code_inline", "image"):
        return child.content
    return " " if child.type in ("softbreak", "hardbreak") else ""


def _close_sections(heads: list[tuple[int, int, str]], length: int) -> Iterator[Section]:
    for number, (start, level, title) in enumerate(heads):
        later = (head for head in heads[number + 1 :] if head[1] <= level)
        yield Section(title, level, start, next(later, (length, 0, ""))[0])


def _first_heading(text: str) -> str:
    block = FRONTMATTER.match(text)
    fence = ""
    for match in TITLE_OR_FENCE.finditer(text, block.end() if block else 0):
        _, title, mark = match.groups()
        if mark and not fence:
            fence = mark
        elif mark and mark.startswith(fence):
            fence = ""
        elif title and not fence:
            return str(title).strip()
    return ""


def _with_string_keys(values: dict[Any, Any]) -> dict[str, Any]:
    """Return `values` with every key a string; YAML allows dates and numbers there."""
    return {
        str(key): _with_string_keys(value) if isinstance(value, dict) else value
        for key, value in values.items()
    }
