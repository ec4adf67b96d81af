"""The parts of the structure of a document: sections, blocks, links."""

from dataclasses import dataclass
from typing import Literal

from assay.retrievers.documents.structure.identifiers import split_title

BlockKind = Literal[
    "paragraph",
    "list",
    "item",
    "code",
    "indented",
    "table",
    "quote",
    "admonition",
    "html",
    "heading",
    "rule",
]
# Blocks without markup; and blocks that, though prose, are not cut if they fit.
VERBATIM = ("code", "table")
NOTES = ("quote", "admonition")
WHOLE = (*VERBATIM, *NOTES)


@dataclass(frozen=True, slots=True)
class Section:
    """Characters `start` to `end` under one heading, up to the next heading of any level.

    `body` is where the heading line ends. `headings` is the path of titles from the outermost
    heading down to the section's own. Text before the first heading has level 0 and no title.
    """

    start: int
    body: int
    end: int
    level: int = 0
    title: str = ""
    headings: tuple[str, ...] = ()
    id: str = ""

    @property
    def name(self) -> str:
        """The title without the number at its head."""
        return split_title(self.title, self.id)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of Markdown; `depth` is 0 outside lists and quotes, `language` that of a fence."""

    kind: BlockKind
    start: int
    end: int
    depth: int = 0
    language: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A link or `[[wikilink]]` with its target as written; `start` to `end` is its paragraph."""

    target: str
    text: str
    start: int
    end: int
    wiki: bool = False
