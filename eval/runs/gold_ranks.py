"""Ranks of gold items beyond a ranking: whether any chunk covers an item, and at which depth.

The retriever is asked while it is open, after a query's ranking is made and outside all timing, so
that attribution needs no search of its own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from assay.eval.collections.collection import GoldItem, Query
from assay.eval.scoring.join import RetrievedChunk, covers
from assay.retrievers.base import Chunk, Ranking, Retriever
from assay.retrievers.settings.filters import Filter
from assay.retrievers.store.chunk_store import ChunkStore
from assay.retrievers.store.lazy_sequence import IdList

Key = TypeVar("Key", str, int)
DEEPEST = 10_000  # candidates a leg is asked for at most


@dataclass(frozen=True, slots=True)
class GoldRank:
    """The rank of a gold item in each leg, and `covered`: True if any indexed chunk covers it.

    `deeper` is {leg: rank of the first chunk that covers it}; None stands for a rank beyond all
    chunks that match or beyond 10,000. It is empty if every leg handed the item on, or if legs
    cannot be asked.
    """

    covered: bool
    deeper: Mapping[str, int | None]


class GoldRankFinder:
    """A finder of the ranks of gold items among the chunks of an indexed retriever."""

    def __init__(self, retriever: Retriever, prescribed: Set[str], drop_self_matches: bool) -> None:
        self._retriever = retriever
        self._drop_self_matches = drop_self_matches
        chunks = retriever.list_chunks()
        self._depth = min(len(chunks), DEEPEST)
        self._list_chunks = _group(chunks, prescribed)

    def place(
        self,
        query: Query,
        ranking: Ranking,
        gold: Sequence[GoldItem],
        allowed: Filter | None = None,
    ) -> dict[str, GoldRank]:
        """Return the rank of every relevant item of `gold` by its id, among what is `allowed`.

        Legs are searched deeper only if one of them handed on no chunk that covers an item. The
        result is empty if the retriever does not list its chunks.
        """
        if not self._depth:
            return {}
        dropped = self._own(query) if self._drop_self_matches else set()
        wanted = {item.id: self._covering(item) - dropped for item in gold if item.grade > 0}
        lists = [
            {id_ for id_, _ in entry.candidates} for entry in ranking.trace if entry.kind == "leg"
        ] or [{hit.chunk.id for hit in ranking.hits}]
        lacking = {
            item
            for item, ids in wanted.items()
            if ids and any(ids.isdisjoint(listed) for listed in lists)
        }
        asked = self._retriever
        if lacking and allowed is not None:
            asked = asked.restrict(allowed)
        probed = asked.probe(query.text, self._depth) if lacking else {}
        looked_for = set().union(*(wanted[item] for item in lacking))
        ranked = {leg: _rank(ids, dropped, looked_for) for leg, ids in probed.items()}
        return {
            item: GoldRank(
                bool(ids),
                {leg: best_rank(ranks, ids) for leg, ranks in ranked.items() if item in lacking},
            )
            for item, ids in wanted.items()
        }

    def _covering(self, item: GoldItem) -> set[str]:
        return {
            retrieved.chunk.id
            for retrieved in self._list_chunks(item.doc_id)
            if covers(retrieved, item)
        }

    def _own(self, query: Query) -> set[str]:
        return {query.id, *(retrieved.chunk.id for retrieved in self._list_chunks(query.id))}


def _rank(ids: Sequence[str], dropped: Set[str], wanted: Set[str]) -> dict[str, int]:
    """Return the ranks, from 1, of ids without the `dropped`; of a pipeline's list the `wanted`."""
    if not isinstance(ids, IdList):
        return dict(zip((id_ for id_ in ids if id_ not in dropped), count(1), strict=False))
    places = ids.find(wanted | dropped)
    ahead = [places[id_] for id_ in dropped if id_ in places]
    return {
        id_: place + 1 - sum(before < place for before in ahead)
        for id_, place in places.items()
        if id_ in wanted
    }


def _group(
    chunks: Sequence[Chunk], prescribed: Set[str]
) -> Callable[[str], Sequence[RetrievedChunk]]:
    """Return a function from a document's id to its chunks."""
    if isinstance(chunks, ChunkStore):
        positions = chunks.by_document
        return lambda doc_id: [
            RetrievedChunk(chunk, chunk.id in prescribed)
            for chunk in (chunks[i] for i in positions.get(doc_id, ()))
        ]
    found: dict[str, list[RetrievedChunk]] = {}
    for chunk in chunks:
        found.setdefault(chunk.doc_id, []).append(RetrievedChunk(chunk, chunk.id in prescribed))
    return lambda doc_id: found.get(doc_id, ())


def matches_itself(query_id: str, chunk: Chunk) -> bool:
    """Return True if a chunk is the query itself: in some collections queries are documents."""
    return query_id in (chunk.id, chunk.doc_id)


def best_rank(ranks: Mapping[Key, int], wanted: Iterable[Key]) -> int | None:
    """Return the first rank that one of the `wanted` has; None where none has any."""
    return min((ranks[id_] for id_ in wanted if id_ in ranks), default=None)
