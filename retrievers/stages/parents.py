"""Parents: small chunks are found, the larger passages they were cut from are returned."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from typing import Literal

from assay.retrievers.base import Chunk, Document, Hit
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.chunkers.base import ID_DIGITS
from assay.retrievers.settings import Resources
from assay.retrievers.stages.base import Stage, StageResult, StageSettings, descend
from assay.retrievers.store.chunk_store import ChunkStore
from assay.retrievers.store.digest import digest

Span = tuple[int, int]

RECENT = 256  # documents whose parents are kept, where chunks stay in their file


class ParentsSettings(StageSettings):
    """Replaces each hit by the larger passage it was cut from; see the chunker parent_child."""

    type: Literal["parents"]

    def build(self, resources: Resources) -> Stage:
        """Return the stage."""
        return Parents()


class Parents(Stage):
    """Puts a parent in the place of the best of its children, with the score of that child.

    A hit without a parent, or that is all of its parent, stays as it is.
    """

    def __init__(self) -> None:
        self._find: Callable[[str], Mapping[Span, Chunk]] = lambda _: {}

    def index(self, corpus: Corpus, top: float) -> None:
        """Cut the parents out of the documents; of a corpus that is not held, when asked."""
        held = not isinstance(corpus.chunks, ChunkStore)

        @lru_cache(None if held else RECENT)
        def find(doc_id: str) -> Mapping[Span, Chunk]:
            return {(chunk.start, chunk.end): chunk for chunk in _cut_parents(corpus, doc_id)}

        for doc_id in corpus.by_document if held else ():
            find(doc_id)
        self._find = find

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return the parents of `hits`, each once."""
        found: dict[str, Hit] = {}
        replaced = 0
        for hit in hits:
            chunk = hit.chunk
            if chunk.parent and (parent := self._find(chunk.doc_id).get(chunk.parent)):
                chunk = parent
                replaced += 1
            found.setdefault(chunk.id, replace(hit, chunk=chunk))
        kept = descend((hit, hit.score) for hit in found.values())
        note = f"{replaced} hits gave way to their parents: {len(kept)} passages" * bool(replaced)
        return StageResult(kept, note, {"in": len(hits), "out": len(kept), "replaced": replaced})


def _cut_parents(corpus: Corpus, doc_id: str) -> Iterator[Chunk]:
    """Yield every passage that chunks of a document were cut from and that none of them is."""
    families: dict[Span, list[Chunk]] = {}
    for chunk in (corpus.chunks[position] for position in corpus.by_document[doc_id]):
        if chunk.parent and chunk.parent != (chunk.start, chunk.end):
            families.setdefault(chunk.parent, []).append(chunk)
    seen: Counter[str] = Counter()
    for span, children in sorted(families.items()):
        document = corpus.documents[doc_id]
        text = document.text[slice(*span)]
        seen[text] += 1
        yield _join(document, span, children, seen[text])


def _join(document: Document, span: Span, children: Sequence[Chunk], occurrence: int) -> Chunk:
    """Return the passage at `span` as a chunk. Like a chunk's, its id does not tell its place."""
    text = document.text[slice(*span)]
    first = children[0]
    levels = zip(*(chunk.headings for chunk in children), strict=False)
    shared = tuple(titles[0] for titles in takewhile(lambda titles: len(set(titles)) == 1, levels))
    kinds = {chunk.kind for chunk in children}
    return Chunk(
        id=digest(document.id, "parent", text, occurrence)[:ID_DIGITS],
        doc_id=document.id,
        start=span[0],
        end=span[1],
        text=text,
        title=first.title,
        headings=shared or first.headings,
        kind=first.kind if len(kinds) == 1 else "content",
        section_id=first.section_id,
        level=first.level,
        anchors=tuple(dict.fromkeys(anchor for chunk in children for anchor in chunk.anchors)),
    )
