"""The lists of all rankings of a run, hits and candidates, as numbers of their chunks.

Four bytes a hit, where a ranking of a hundred hits takes 70 KB: for what looks at every query.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from assay.eval.scoring.joined import NumberLists
from assay.retrievers.base import Chunk, Ranking

Entry = tuple[str, str]  # the name and the kind of an entry of a trace


@dataclass(frozen=True)
class RankedLists:
    """The lists of the queries of a run, a row each in their order.

    `chunks` are those of the run by number. Candidates that it holds no chunk of have numbers of
    their own behind these.
    """

    chunks: Sequence[Chunk]
    hits: NumberLists = field(default_factory=NumberLists)
    _entries: list[tuple[Entry, ...]] = field(default_factory=list)  # of a row
    _begins: "array[int]" = field(default_factory=lambda: array("q"))  # of the lists of a row
    _candidates: NumberLists = field(default_factory=NumberLists)  # of an entry

    def list_entries(self, row: int) -> "list[tuple[str, str, array[int]]]":
        """Return name, kind and candidates of each entry of a row's trace."""
        begin = self._begins[row]
        return [(*entry, self._candidates[begin + i]) for i, entry in enumerate(self._entries[row])]

    @cached_property
    def listed(self) -> frozenset[str]:
        """The names of the entries that tell their candidates in some trace."""
        return frozenset(
            name
            for row in range(len(self._entries))
            for name, _, candidates in self.list_entries(row)
            if candidates
        )


class ListReader:
    """Reads the lists of one ranking after the other.

    `chunks` are those of the run by id.
    """

    def __init__(self, chunks: Mapping[str, Chunk]) -> None:
        self.lists = RankedLists(tuple(chunks.values()))
        self._numbers = _Numbers((id_, number) for number, id_ in enumerate(chunks))
        self._known: dict[tuple[Entry, ...], tuple[Entry, ...]] = {}

    def add(self, hits: Iterable[str], trace: Iterable[tuple[str, str, Iterable[str]]]) -> None:
        """Take in the ids of the hits, and name, kind and candidates of each entry of the trace.

        Raises KeyError where the run holds no chunk of a hit.
        """
        lists, numbers = self.lists, self._numbers
        returned = list(hits)
        found = list(map(numbers.__getitem__, returned))
        if max(found, default=-1) >= len(lists.chunks):
            raise KeyError("a hit without its chunk")
        lists.hits.add(found)
        lists._begins.append(len(lists._candidates))
        entries = []
        for name, kind, candidates in trace:
            entries.append((name, kind))
            same = candidates == returned  # as often, and much the faster to find out
            lists._candidates.add(found if same else map(numbers.__getitem__, candidates))
        lists._entries.append(self._known.setdefault(tuple(entries), tuple(entries)))

    def add_row(self, row: Mapping[str, Any]) -> None:
        """Take in a ranking as `assay.eval.runs.rows.encode_ranking` gives it."""
        trace = row["trace"]
        self.add(
            [hit[0] for hit in row["hits"]],
            [(name, kind, [pair[0] for pair in listed]) for name, kind, _, listed, *_ in trace],
        )


def read_lists(rankings: Iterable[Ranking]) -> RankedLists:
    """Return the lists of rankings, each of which is asked for once."""
    chunks: dict[str, Chunk] = {}
    rows = []
    for ranking in rankings:
        for chunk in (*(hit.chunk for hit in ranking.hits), *ranking.others):
            chunks.setdefault(chunk.id, chunk)
        trace = [(i.name, i.kind, [id_ for id_, _ in i.candidates]) for i in ranking.trace]
        rows.append(([hit.chunk.id for hit in ranking.hits], trace))
    reader = ListReader(chunks)
    for hits, trace in rows:
        reader.add(hits, trace)
    return reader.lists


class _Numbers(dict[str, int]):
    """Numbers by id; one that is not known gets the next."""

    def __missing__(self, id_: str) -> int:
        number = self[id_] = len(self)
        return number
