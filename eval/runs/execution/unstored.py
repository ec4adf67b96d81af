"""A retriever's rankings and their scores, without storing a run."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.eval.collections.collection import Collection, Query
from assay.eval.runs.execution.execution import Ready, RunSpec, describe_run
from assay.eval.runs.execution.searching import sample, search_plain
from assay.eval.runs.latency import Latency
from assay.eval.runs.rows import Flaws, has_rising_scores
from assay.eval.runs.stored import StoredRun
from assay.eval.scoring import measures
from assay.eval.scoring.join import RetrievedChunk, join
from assay.retrievers.base import AssayError, Chunk, Retriever


def search_unstored(
    plan: RunSpec,
    retriever: Retriever,
    collection: Collection,
    ready: Ready,
    provenance: Mapping[str, Any],
    validated: dict[int, Chunk],
) -> StoredRun:
    """Return a run that is not written, timed or placed; its rankings equal a stored run's.

    `retriever` has indexed the documents; `provenance` are those of
    `assay.eval.runs.environment`; `validated` is that of `search`, here of several retrievers
    that may share chunks.
    """
    begin = time.perf_counter()
    queries = sample(collection.queries, plan.limit)
    rankings = {
        query.id: search_plain(retriever, collection, query, plan.depth, validated)
        for query in queries
    }
    flaws = Flaws()
    for id_, found in rankings.items():
        flaws.add(id_, found.degraded, found.trace, has_rising_scores(found))
    return StoredRun(
        folder=Path(),
        manifest=describe_run(
            f"{plan.name}-{ready.identity[:8]}",
            plan,
            retriever,
            collection,
            ready,
            Latency((), None, plan.latency.concurrency),
            flaws,
            searched=len(queries),
            provenance=provenance,
            seconds=time.perf_counter() - begin,
        ),
        queries={query.id: query for query in queries},
        gold={query.id: collection.gold[query.id] for query in queries},
        gold_texts={},
        rankings=rankings,
        gold_ranks={},
        prescribed=collection.prescribed,
        latency=(),
        unwanted=collection.unwanted,
    )


def score_queries(
    retriever: Retriever,
    collection: Collection,
    queries: Sequence[Query],
    measure: str,
    depth: int,
    validated: dict[int, Chunk] | None = None,
) -> Mapping[str, float]:
    """Return the score of each query by its id, as a stored run of `depth` would have it.

    Given to several calls, `validated`, empty at first, spares chunks a second check. The retriever
    must have indexed the documents of the collection. Raises AssayError when a part of it could not
    do its work: such scores are not those of its settings.
    """
    joined = {}
    validated = {} if validated is None else validated
    for query in queries:
        ranking = search_plain(retriever, collection, query, depth, validated)
        if ranking.degraded:
            raise AssayError(f"query {query.id}: {ranking.degraded[0]}")
        retrieved = [
            RetrievedChunk(
                hit.chunk,
                hit.chunk.id in collection.prescribed,
                hit.chunk.doc_id in collection.unwanted,
            )
            for hit in ranking.hits
        ]
        joined[query.id] = join(retrieved, collection.gold[query.id])
    gold = {query.id: collection.gold[query.id] for query in queries}
    if any(len(hits) >= depth for hits in joined.values()):
        measures.check_reach([measure], depth, "depth")
    return measures.score([measure], joined, gold)[measure]
