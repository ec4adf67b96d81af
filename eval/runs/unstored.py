"""Scores of a retriever's answers, of which nothing is stored."""

from collections.abc import Mapping, Sequence

from eval.collections.collection import Collection, Query
from eval.runs.execution import search_plain
from eval.scoring import measures
from eval.scoring.join import Retrieved, join
from retrievers.base import AssayError, Chunk, Retriever


def score_queries(
    retriever: Retriever,
    collection: Collection,
    queries: Sequence[Query],
    measure: str,
    depth: int,
    sound: dict[int, Chunk] | None = None,
) -> Mapping[str, float]:
    """Return the score of each query by its id, as a stored run of `depth` would have it.

    Given to several calls, `sound`, empty at first, spares chunks a second check. The retriever
    must have indexed the documents of the collection. Raises AssayError when a part of it could not
    do its work: such scores are not those of its settings.
    """
    joined = {}
    sound = {} if sound is None else sound
    for query in queries:
        ranking = search_plain(retriever, collection, query, depth, sound)
        if ranking.degraded:
            raise AssayError(f"query {query.id}: {ranking.degraded[0]}")
        retrieved = [
            Retrieved(hit.chunk, hit.chunk.id in collection.prescribed) for hit in ranking.hits
        ]
        joined[query.id] = join(retrieved, collection.gold[query.id])
    gold = {query.id: collection.gold[query.id] for query in queries}
    return measures.score([measure], joined, gold)[measure]
