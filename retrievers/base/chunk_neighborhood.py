"""The neighborhood of a chunk: its place in the document, and the links from and to it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


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

    It is number `order`, from 1, of the `total` chunks of its document. `parents` are the ids of
    the sections above its own, outermost first, `level` that of the heading it stands under, 0
    without one. `sections` are those that it holds text of: `combined` where there are several,
    `split` where one of them goes on in another chunk. `defined_in` is the section of each of the
    hit's definitions. `outgoing` and `incoming` are None where documents stay in their files, all
    of which would have to be parsed for them, and where the config has `documents.references` off,
    as then `references` are left out. `title` is the document's, `source` the file that it was made
    of, by which it is cited, and `page` the one on which the chunk begins, where that is known.
    `language` is what its frontmatter says it is in, or else what its text looks like, `summary`
    what it says it is about, or else its first paragraph. `updated_at` is the day (ISO
    8601) on which its frontmatter says it was last changed, or else that of its file; "" where
    neither is known.
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

    def as_json(self) -> Mapping[str, Any]:
        """Return all but `defined_in` as JSON values."""
        return {key: value for key, value in asdict(self).items() if key != "defined_in"}
