"""Ranked lists for the tests of stages."""

from collections.abc import Iterable, Sequence

from assay.retrievers.base import Chunk, Document, Hit, LegRank
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.stages.base import Stage, StageResult


def make_chunk(id_: str, text: str = "", doc_id: str = "d") -> Chunk:
    return Chunk(id_, doc_id, 0, len(text), text)


def make_hits(chunks: Iterable[Chunk], scores: Sequence[float] | None = None) -> list[Hit]:
    """Return a hit for each chunk, with falling scores unless they are given."""
    chunks = list(chunks)
    scores = scores or [1 / rank for rank in range(1, len(chunks) + 1)]
    pairs = enumerate(zip(chunks, scores, strict=True), start=1)
    return [Hit(chunk, score, {"leg": LegRank(rank, score)}) for rank, (chunk, score) in pairs]


def make_corpus(chunks: Iterable[Chunk], documents: Iterable[Document] = ()) -> Corpus:
    return Corpus(sorted(chunks, key=lambda chunk: chunk.id, reverse=True), documents)


def cut(
    document: Document, *spans: tuple[int, int], parent: tuple[int, int] | None = None
) -> list[Chunk]:
    """Return chunks `c0`, `c1`, … of a document at `spans`."""
    return [
        Chunk(f"{document.id}#c{i}", document.id, *span, document.text[slice(*span)], parent=parent)
        for i, span in enumerate(spans)
    ]


def apply(stage: Stage, hits: Sequence[Hit], query: str = "q", top: float = 1.0) -> StageResult:
    """Index the chunks of `hits` alone and apply the stage."""
    stage.index(make_corpus({hit.chunk for hit in hits}), top)
    return stage.apply(query, hits)


def ids(hits: Iterable[Hit]) -> list[str]:
    return [hit.chunk.id for hit in hits]


def descends(hits: Sequence[Hit]) -> bool:
    """Say whether hits stand as every retriever must list them."""
    keys = [(hit.score, hit.chunk.id) for hit in hits]
    return keys == sorted(keys, reverse=True)
