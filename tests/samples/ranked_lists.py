"""Ranked lists for the tests of stages."""

from assay.retrievers.base import Chunk, Hit, LegRank
from assay.retrievers.corpus.corpus import Corpus


def make_chunk(id_, text="", doc_id="d"):
    return Chunk(id_, doc_id, 0, len(text), text)


def make_hits(chunks, scores=None):
    """Return a hit for each chunk, with falling scores unless they are given."""
    chunks = list(chunks)
    scores = scores or [1 / rank for rank in range(1, len(chunks) + 1)]
    pairs = enumerate(zip(chunks, scores, strict=True), start=1)
    return [Hit(chunk, score, {"leg": LegRank(rank, score)}) for rank, (chunk, score) in pairs]


def make_corpus(chunks, documents=()):
    return Corpus(sorted(chunks, key=lambda chunk: chunk.id, reverse=True), documents)


def cut(document, *spans, parent=None):
    """Return chunks `c0`, `c1`, … of a document at `spans`."""
    return [
        Chunk(f"{document.id}#c{i}", document.id, *span, document.text[slice(*span)], parent=parent)
        for i, span in enumerate(spans)
    ]


def apply(stage, hits, query="q", top=1.0):
    """Index the chunks of `hits` alone and apply the stage."""
    stage.index(make_corpus({hit.chunk for hit in hits}), top)
    return stage.apply(query, hits)


def ids(hits):
    return [hit.chunk.id for hit in hits]


def descends(hits):
    """Say whether hits stand as every retriever must list them."""
    keys = [(hit.score, hit.chunk.id) for hit in hits]
    return keys == sorted(keys, reverse=True)
