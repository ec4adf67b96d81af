"""Facts on the documents that a pipeline took in: it finds them, and the judge reports them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class DocumentReport:
    """Facts on one document that a pipeline took in.

    - `tokens`: the tokens of each searched chunk, as the chunker counts them.
    - `oversize`: the number of chunks over the chunker's maximum.
    - `unread`: the number of chunks whose end the encoder does not read.
    - `intact`: True if the document can be rebuilt from its chunks; None if the collection
      prescribes passages.
    - `combined`: the number of chunks with text of several sections.
    - `split`: the number of chunks that begin or end within a section.
    - `embedded`: the number of vectors made for it.
    - `seconds`: those of the stages that did any work; empty if all was in the cache.
    - `note`: why a text that looks like frontmatter is not.
    - `unsearched`: the number of words of frontmatter that is not searched.
    - `near_empty`: the texts, shortened, of the chunks with hardly a word besides headings.
    - `parts`: the tokens of the chunks of each part between headings that no chunk crosses; empty
      for chunkers without this rule.
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
    near_empty: tuple[str, ...] = field(default=(), kw_only=True)
    parts: tuple[tuple[int, ...], ...] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class IngestReport:
    """Facts on all documents that a pipeline took in.

    `seconds` by stage (chunk, context, embed and each index) are those of the work itself, also
    where its result came from the cache; `cached` names these stages. A stage whose seconds are not
    known is left out. `limit` is the chunker's maximum and `window` what the encoder reads,
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
