"""Searching: a retriever's ranking for each query of a collection, checked and placed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from assay.eval.collections.collection import Collection, Query
from assay.eval.collections.permissions import find_allowed
from assay.eval.runs.contract import check_index, check_ranking, name_retriever, naming
from assay.eval.runs.execution.leaks import check_leaks
from assay.eval.runs.gold_ranks import GoldRank, GoldRankFinder, matches_itself
from assay.retrievers.base import Chunk, IndexReport, Ranking, Retriever, T
from assay.retrievers.settings.filters import Filter


@dataclass(frozen=True)
class QueryResult:
    """The ranking of a query, and the ranks of gold items that it misses."""

    query: Query
    ranking: Ranking
    gold_ranks: Mapping[str, GoldRank]


def index(retriever: Retriever, collection: Collection) -> IndexReport:
    """Let `retriever` index the documents. Raises AssayError if it fails or breaks its contract."""
    with naming(f"{name_retriever(retriever)}: index"):
        return check_index(retriever.index(collection.documents), retriever)


def search(
    retriever: Retriever,
    collection: Collection,
    query: Query,
    depth: int,
    validated: dict[int, Chunk] | None = None,
) -> Ranking:
    """Return the first `depth` hits; without the query itself where the collection drops it.

    Given to several searches, `validated`, empty at first, spares chunks a second check.

    Raises AssayError, naming the query, where the retriever fails or breaks its contract, and
    LeakError where it shows what the query may not find.
    """
    known = {} if validated is None else validated
    return _ask(retriever, "search", collection, query, depth, known)


def search_plain(
    retriever: Retriever,
    collection: Collection,
    query: Query,
    depth: int,
    validated: dict[int, Chunk],
) -> Ranking:
    """Search as `search` does, if only chunks and their order are needed."""
    return _ask(retriever, "search_plain", collection, query, depth, validated)


def answer(
    queries: Iterable[Query],
    depth: int,
    retriever: Retriever,
    collection: Collection,
) -> Iterator[QueryResult]:
    """Yield the result of `retriever`, which has indexed the documents, for each query."""
    finder = GoldRankFinder(retriever, collection.prescribed, collection.drop_self_matches)
    validated: dict[int, Chunk] = {}
    for query in queries:
        ranking = search(retriever, collection, query, depth, validated)
        with naming(f"{name_retriever(retriever)}: query {query.id}"):
            allowed = find_allowed(collection.card, query)
            gold_ranks = finder.place(query, ranking, collection.gold[query.id], allowed)
        yield QueryResult(query, ranking, gold_ranks)


def sample(queries: Sequence[T], limit: int | None) -> list[T]:
    """Return `limit` of `queries`, evenly spaced, or all."""
    if limit is None or limit >= len(queries):
        return list(queries)
    return [queries[i * len(queries) // limit] for i in range(limit)]


def ask(
    retriever: Retriever,
    query_id: str,
    text: str,
    k: int,
    allowed: Filter | None,
    how: Literal["search", "search_plain"] = "search",
) -> Ranking:
    """Return the first `k` hits of what is `allowed`. Raises AssayError, naming the query."""
    with naming(f"{name_retriever(retriever)}: query {query_id}"):
        asked = retriever if allowed is None else retriever.restrict(allowed)
        found: Ranking = getattr(asked, how)(text, k)
    return found


def _ask(
    retriever: Retriever,
    how: Literal["search", "search_plain"],
    collection: Collection,
    query: Query,
    depth: int,
    validated: dict[int, Chunk],
) -> Ranking:
    k = depth + collection.drop_self_matches
    allowed = find_allowed(collection.card, query)
    found = ask(retriever, query.id, query.text, k, allowed, how)
    ranking = check_ranking(found, retriever, query.id, k, collection.texts, validated)
    if allowed is not None:
        check_leaks(ranking, collection, query, retriever)
    return _without_self(ranking, query.id, depth) if collection.drop_self_matches else ranking


def _without_self(ranking: Ranking, query_id: str, depth: int) -> Ranking:
    hits = [hit for hit in ranking.hits if not matches_itself(query_id, hit.chunk)]
    kept = tuple(hits[:depth])
    dropped = (hit.chunk for hit in ranking.hits if hit not in kept)
    return replace(ranking, hits=kept, others=(*ranking.others, *dropped))
