"""Stages that replace a hit by other passages of its document, or add them to it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from typing import Literal

from pydantic import Field

from assay.retrievers.base import AssayError, Chunk, Document, Hit
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.chunkers.base import ID_DIGITS
from assay.retrievers.settings import Resources
from assay.retrievers.stages.base import (
    Beside,
    Comparison,
    Stage,
    StageResult,
    StageSettings,
    descend,
    part_pinned,
)
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
    """Return the passage at `span` as a chunk, with an id that does not depend on its place."""
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


class NeighboursSettings(StageSettings):
    """Adds the neighbours of the best hits where the query is long or its best two are close."""

    type: Literal["neighbours"]
    query_tokens: int = Field(12, ge=1, description="a query of so many words is expanded")
    score_delta: float | None = Field(
        0.02,
        ge=0,
        description="a query whose two best scores differ by no more is expanded; they must come "
        "of linear fusion, calibrated, or be cosines; null: only long queries are expanded",
    )
    top: int = Field(3, ge=1, description="how many of the best hits are given their neighbours")

    @property
    def comparison(self) -> Comparison | None:
        """The comparison of the best two scores, if it decides; else None."""
        if self.score_delta is None:
            return None
        told = "how near two scores were, and puts the best two of every query close together"
        return Comparison("neighbours.score_delta", ", or set it to null", beyond_ranks=told)

    def build(self, resources: Resources) -> Stage:
        """Return the stage."""
        return Neighbours(self)


class Neighbours(Stage):
    """Puts the chunks before and after a hit, of the same document, right behind it.

    It adds at most two for each of the first `top` hits; those of pinned hits follow the last
    pinned hit. A neighbour further below moves up; one above stays. The rule is meant to apply to
    10 to 40 % of the queries of a run, as its counts `expanded` show: less often it is of no use,
    more often it does not select. With reciprocal rank fusion it would apply to nearly all: that
    puts ranks 1 and 2 within 2 % of each other.
    """

    def __init__(self, settings: NeighboursSettings) -> None:
        self._settings = settings
        self._corpus = Corpus(())
        self._ask_store: Beside = _know_nothing

    def index(self, corpus: Corpus, top: float) -> None:
        """Take the corpus that neighbours are found in."""
        self._corpus = corpus

    def link(self, beside: Beside) -> None:
        """Take the links that a leg's store keeps, which take precedence over the corpus."""
        self._ask_store = beside

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        """Return `hits` with the neighbours of the first, if the query calls for them."""
        reason = self._find_reason(query, hits)
        after, moved = self._expand(hits) if reason else (list(hits), 0)
        added = len(after) - len(hits)
        expanded = added + moved > 0
        counts = {"expanded": int(expanded), "added": added, "moved": moved}
        note = f"{reason}: added {added} neighbours, moved {moved} up" if expanded else ""
        return StageResult(after, note, {"in": len(hits), "out": len(after), **counts})

    def _find_reason(self, query: str, hits: Sequence[Hit]) -> str:
        """Say why the query is expanded; nothing where it is not."""
        words, limit = len(query.split()), self._settings.score_delta
        if words >= self._settings.query_tokens:
            return f"{words} words"
        if limit is not None and len(hits) > 1 and hits[0].score - hits[1].score <= limit:
            return f"the best two scores differ by {hits[0].score - hits[1].score:.2g}"
        return ""

    def _expand(self, hits: Sequence[Hit]) -> tuple[list[Hit], int]:
        """Return the expanded list and how many of its hits moved up."""
        first, rest = hits[: self._settings.top], hits[self._settings.top :]
        below = {hit.chunk.id: hit for hit in rest}
        taken = {hit.chunk.id for hit in first}
        placed: list[tuple[Hit, float]] = []
        for hit, beside in zip(first, self._find_beside(first), strict=True):
            placed.append((hit, hit.score))
            for chunk in (self._corpus.chunks[position] for position in beside):
                if chunk.id not in taken:
                    taken.add(chunk.id)
                    placed.append((below.get(chunk.id, Hit(chunk, hit.score)), hit.score))
        placed += [(hit, hit.score) for hit in rest if hit.chunk.id not in taken]
        pinned, _ = part_pinned(hits)
        named = [(hit, hit.score) for hit in pinned]
        after = descend(named + [pair for pair in placed if not pair[0].pinned])
        moved = sum(not below[id_].pinned for id_ in taken & below.keys())
        return after, moved

    def _find_beside(self, hits: Sequence[Hit]) -> list[list[int]]:
        """Return the positions of the chunks before and after each hit."""
        positions = [self._corpus.positions[hit.chunk.id] for hit in hits]
        told = None
        with suppress(AssayError):  # the corpus knows the same, and the leg says what fails
            told = self._ask_store(positions)
        return told if told is not None else list(map(self._look_beside, positions))

    def _look_beside(self, position: int) -> list[int]:
        own = self._corpus.by_document[self._corpus.chunks[position].doc_id]
        i = own.index(position)
        return [*own[max(i - 1, 0) : i], *own[i + 1 : i + 2]]


def _know_nothing(positions: Sequence[int]) -> None:
    """Keep no links."""
