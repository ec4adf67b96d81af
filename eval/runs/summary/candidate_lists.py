"""The lists a stored run holds of each query, in the order they were made, final hits last.

Ranks leave out self-matches where the collection drops them, so that the ranks of every step
compare with the final ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.eval.collections.collection import GoldItem
from assay.eval.runs.gold_ranks import matches_itself, rank_ids
from assay.eval.runs.stored import StoredRun
from assay.eval.scoring.join import RetrievedChunk, covers
from assay.retrievers.base import Chunk, StageTrace

LEG, FUSION, STAGE, FINAL = "leg", "fusion", "stage", "final"
KINDS = (LEG, FUSION, STAGE, FINAL)


@dataclass(frozen=True, slots=True)
class Step:
    """One list of one query: {chunk id: rank from 1}. `kind` is leg, fusion, stage or final."""

    name: str
    kind: str
    ranks: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Trail:
    """The steps of one query, and for each relevant gold item the listed chunks that cover it."""

    query: str
    steps: tuple[Step, ...]
    items: tuple[GoldItem, ...]
    covering: Mapping[str, frozenset[str]]
    chunks: Mapping[str, Chunk]


def follow(run: StoredRun) -> Iterator[Trail]:
    """Yield the trail of every query, in the order of the queries; hold none, of many they are big.

    A part of the pipeline that tells its time but never its candidates is no step.
    """
    return (_follow(run, query) for query in run.queries)


def order_steps(kinds: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of steps, given with their kinds, legs first."""
    return tuple(sorted(kinds, key=lambda name: KINDS.index(kinds[name])))


def name_entries(trace: Sequence[StageTrace]) -> list[str]:
    """Return the name of each entry, its number added where it has been named before."""
    before: dict[str, int] = {}
    names = []
    for entry in trace:
        before[entry.name] = before.get(entry.name, 0) + 1
        number = before[entry.name]
        names.append(entry.name if number == 1 else f"{entry.name} {number}")
    return names


def _follow(run: StoredRun, query: str) -> Trail:
    ranking = run.rankings[query]
    listed = (*(hit.chunk for hit in ranking.hits), *ranking.others)
    chunks = {chunk.id: chunk for chunk in listed}
    dropped = set()
    if run.manifest.collection.drop_self_matches:
        dropped = {id_ for id_, chunk in chunks.items() if matches_itself(query, chunk)}
    steps = [
        Step(name, entry.kind, rank_ids((id_ for id_, _ in entry.candidates), dropped))
        for name, entry in zip(name_entries(ranking.trace), ranking.trace, strict=True)
        if entry.kind in KINDS and (entry.candidates or entry.name in run.listed)
    ]
    final = rank_ids((hit.chunk.id for hit in ranking.hits), dropped)
    items = tuple(item for item in run.gold[query] if item.grade > 0)
    judged: dict[str, list[Chunk]] = {item.doc_id: [] for item in items}
    for chunk in chunks.values():
        if chunk.doc_id in judged:
            judged[chunk.doc_id].append(chunk)
    covering = {
        item.id: frozenset(
            chunk.id
            for chunk in judged[item.doc_id]
            if covers(RetrievedChunk(chunk, chunk.id in run.prescribed), item)
        )
        for item in items
    }
    return Trail(query, (*steps, Step(FINAL, FINAL, final)), items, covering, chunks)
