"""The lists of each query in a stored run, in the order they were made, final hits last.

Ranks leave out self-matches where the collection drops them, so that the ranks of every step
compare with the final ones.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.eval.collections.collection import GoldItem
from assay.eval.runs.gold_ranks import matches_itself
from assay.eval.runs.stored import StoredRun
from assay.eval.scoring.join import RetrievedChunk, covers
from assay.retrievers.base import Chunk

LEG, FUSION, STAGE, FINAL = "leg", "fusion", "stage", "final"
KINDS = (LEG, FUSION, STAGE, FINAL)


@dataclass(frozen=True, slots=True)
class Step:
    """One list of one query, best first. `kind` is leg, fusion, stage or final.

    `ranks`, from 1, are those of the listed chunks that cover a relevant gold item.
    """

    name: str
    kind: str
    numbers: Sequence[int]
    ranks: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Trail:
    """The steps of one query, and for each relevant gold item the listed chunks that cover it.

    Chunks go by their numbers in `chunks`, which are those of the run.
    """

    query: str
    steps: tuple[Step, ...]
    items: tuple[GoldItem, ...]
    covering: Mapping[str, frozenset[int]]
    chunks: Sequence[Chunk]


def follow(run: StoredRun) -> Iterator[Trail]:
    """Yield the trail of every query, in the order of the queries.

    A part of the pipeline that reports its time but never its candidates is no step.
    """
    return (_follow(run, row, query) for row, query in enumerate(run.queries))


def name_entries(entries: Iterable[str]) -> list[str]:
    """Return the names of a trace's entries, with a number if a name is repeated."""
    before: Counter[str] = Counter()
    names = []
    for name in entries:
        before[name] += 1
        names.append(name if before[name] == 1 else f"{name} {before[name]}")
    return names


def _follow(run: StoredRun, row: int, query: str) -> Trail:
    chunks = run.lists.chunks
    entries = run.lists.list_entries(row)
    names = name_entries(name for name, _, _ in entries)
    lists: list[tuple[str, str, Sequence[int]]] = [
        (numbered, kind, candidates)
        for numbered, (name, kind, candidates) in zip(names, entries, strict=True)
        if kind in KINDS and (candidates or name in run.lists.listed)
    ]
    lists.append((FINAL, FINAL, run.lists.hits[row]))
    listed = set().union(*(numbers for _, _, numbers in lists))
    if run.manifest.collection.drop_self_matches:
        own = {n for n in listed if n < len(chunks) and matches_itself(query, chunks[n])}
        lists = [(name, kind, [n for n in all_ if n not in own]) for name, kind, all_ in lists]
    items = tuple(item for item in run.gold[query] if item.grade > 0)
    covering = {
        item.id: frozenset(
            number
            for number in run.by_document.get(item.doc_id, frozenset()) & listed
            if covers(RetrievedChunk(chunks[number], chunks[number].id in run.prescribed), item)
        )
        for item in items
    }
    wanted = frozenset().union(*covering.values())
    steps = (
        Step(name, kind, numbers, {n: numbers.index(n) + 1 for n in wanted.intersection(numbers)})
        for name, kind, numbers in lists
    )
    return Trail(query, tuple(steps), items, covering, chunks)
