"""What became of documents that a pipeline took in: facts that it finds and the judge reports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class DocumentReport:
    """What became of one document.

    `tokens` counts each chunk that is searched, as the chunker does. `oversize` counts those over
    the chunker's maximum, `unread` those of which the encoder does not read the end. `intact` says
    that the chunks give the document back; None where the collection prescribes passages.
    `combined` counts the chunks that hold text of several sections, `split` those that begin or end
    within a section. `embedded` counts the vectors made for it. `seconds` are of the stages that
    did anything: none, when all was in the cache. `note` says why what looks like frontmatter is
    text. `unsearched` counts the words of frontmatter that is not searched. `parts` has the tokens
    of the chunks of each part between headings that no chunk crosses; none for chunkers without
    such.
    """

    id: str
    tokens: tuple[int, ...]
    oversize: int
    unread: int
    intact: bool | None
    decisions: Mapping[str, int]
    definitions: int
    references: int
    resolved: int
    embedded: int
    seconds: Mapping[str, float]
    note: str = field(default="", kw_only=True)
    unsearched: int = field(default=0, kw_only=True)
    combined: int = field(default=0, kw_only=True)
    split: int = field(default=0, kw_only=True)
    parts: tuple[tuple[int, ...], ...] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class IngestReport:
    """What became of all documents.

    `seconds` by stage (chunk, context, embed and each index) are those of the work itself, also
    where its result came from the cache; `cached` names such stages. A stage of which they are not
    known is not among them. `limit` is the chunker's maximum and `window` what the encoder reads,
    in tokens. `facts` are the retriever's.
    """

    documents: Sequence[DocumentReport]
    seconds: Mapping[str, float]
    cached: Sequence[str]
    collisions: int
    limit: int | None
    window: int | None
    bytes: int
    facts: Mapping[str, Any]
