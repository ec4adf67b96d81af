"""The neighborhood of a chunk: its place in the document, and the links from and to it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pointer:
    """A link from or to another chunk: `chunk_id` is the other one, in a section of a document.

    `kind` is reference, link, wikilink, transclusion or related.
    """

    kind: str
    chunk_id: str
    doc_id: str
    section_id: str


@dataclass(frozen=True, slots=True)
class WrittenReference:
    """A cross-reference as in `text`, with the ids it means; `external` is in another law."""

    text: str
    targets: tuple[str, ...]
    external: bool


@dataclass(frozen=True, slots=True)
class ChunkNeighborhood:
    """The place of a chunk in its document, and the links from and to it.

    - `order`: its number, from 1, among the `total` chunks of its document.
    - `parents`: the ids of the sections above its own, outermost first.
    - `level`: the level of the heading above it, 0 without one.
    - `sections`: the sections that it has text of; `combined` if there are several, `split` if one
      of them continues in another chunk.
    - `defined_in`: the section of each of the hit's definitions.
    - `outgoing`, `incoming`: the links; None if documents stay in their files, all of which would
      have to be parsed for them, or if the config has `documents.references` off.
    - `references`: left out if the config has `documents.references` off.
    - `title`: that of the document.
    - `source`: the file that the document was made from, by which it is cited.
    - `page`: the page on which the chunk begins, if known.
    - `language`: the one that the frontmatter states, or else that of the text.
    - `summary`: the one in the frontmatter, or else the first paragraph.
    - `updated_at`: the day (ISO 8601) of the last change by the frontmatter, or else that of the
      file; "" if neither is known.
    """

    order: int
    total: int
    level: int
    parents: tuple[str, ...]
    sections: tuple[str, ...]
    combined: bool
    split: bool
    references: tuple[WrittenReference, ...]
    outgoing: tuple[Pointer, ...] | None
    incoming: tuple[Pointer, ...] | None
    defined_in: tuple[str, ...] = ()
    language: str = ""
    summary: str = ""
    title: str = ""
    source: str = ""
    page: int | None = None
    updated_at: str = ""
