"""Rankings of several queries, joined as those of a run are."""

from collections.abc import Mapping, Sequence, Set

from assay.eval.collections.collection import GoldItem
from assay.eval.scoring.joined import JoinedRankings, NumberLists, group_judged
from assay.retrievers.base import Chunk


def join_all(
    rankings: Mapping[str, Sequence[Chunk]],
    gold: Mapping[str, Sequence[GoldItem]],
    prescribed: Set[str] = frozenset(),
    unwanted: Set[str] = frozenset(),
) -> JoinedRankings:
    chunks = list({chunk.id: chunk for listed in rankings.values() for chunk in listed}.values())
    numbers = {chunk.id: number for number, chunk in enumerate(chunks)}
    lists = NumberLists()
    for query in gold:
        lists.add(numbers[chunk.id] for chunk in rankings[query])
    return JoinedRankings(lists, chunks, prescribed, gold, group_judged(chunks, gold), unwanted)
