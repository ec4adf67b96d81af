"""What is timed side by side: the shipped pipelines, and two BM25 libraries called directly."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.retrievers.base import Document, Ranking, Retriever

DEPTH = 100

Terms = Sequence[str]


@dataclass(frozen=True, slots=True)
class Contender:
    """Something that answers queries over passages it has indexed.

    `search` returns the best 100 passages for a query, in a form of its own; it is what is timed.
    `embeds` says whether part of that is the embedding of the query. `index_seconds` leaves out
    the embedding of passages; `index_bytes` is None for an index of Python objects.
    """

    name: str
    search: Callable[[str], Any]
    embeds: bool
    index_seconds: float
    index_bytes: int | None


def make_pipeline(name: str, retriever: Retriever, documents: Sequence[Document]) -> Contender:
    """Return a pipeline as it ships, with every per-query cache off."""
    report = retriever.index(documents)
    timed = retriever.without_query_cache()
    embeddings = [taken for step, taken in report.seconds.items() if step.endswith(".embed")]
    return Contender(
        name=name,
        search=lambda query: timed.search(query, DEPTH),
        embeds=bool(embeddings),
        index_seconds=sum(report.seconds.values()) - sum(embeddings),
        index_bytes=report.bytes,
    )


def embedding_milliseconds(answer: Any) -> float:
    """Return the part of a search that went into embedding the query; 0 for a library's answer."""
    if not isinstance(answer, Ranking):
        return 0.0
    return sum(step.milliseconds for step in answer.trace if step.name.endswith(".encode"))


def make_bm25s(passages: Sequence[Terms], queries: Mapping[str, Terms]) -> Contender:
    """Return bm25s with its defaults; `queries` gives the terms of each query."""
    import bm25s

    begin = time.perf_counter()
    library = bm25s.BM25()
    library.index(passages, show_progress=False)
    seconds = time.perf_counter() - begin
    depth = min(DEPTH, len(passages))
    return Contender(
        name="bm25s, called directly",
        search=lambda query: library.retrieve([queries[query]], k=depth, show_progress=False),
        embeds=False,
        index_seconds=seconds,
        index_bytes=sum(library.scores[part].nbytes for part in ("data", "indices", "indptr")),
    )


def make_rank_bm25(passages: Sequence[Terms], queries: Mapping[str, Terms]) -> Contender:
    """Return rank-bm25's BM25Okapi with its defaults; `queries` gives the terms of each query."""
    from rank_bm25 import BM25Okapi

    begin = time.perf_counter()
    library = BM25Okapi(passages)
    seconds = time.perf_counter() - begin
    positions = range(len(passages))
    return Contender(
        name="rank-bm25, called directly",
        search=lambda query: library.get_top_n(queries[query], positions, n=DEPTH),
        embeds=False,
        index_seconds=seconds,
        index_bytes=None,
    )
