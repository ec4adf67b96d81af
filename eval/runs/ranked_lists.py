"""The lists of all rankings of a run, hits and candidates, as numbers of their chunks.

They take four bytes a hit, whereas a ranking of a hundred hits takes 70 KB. They serve work on all
queries.
"""

from array import array
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from assay.eval.scoring.joined import NumberLists
from assay.retrievers.base import Chunk, Ranking

Entry = tuple[str, str]  # the name and the kind of an entry of a trace


class RankedLists:
    """The lists of one query after the other, a row each.

    `chunks`, given by id, are those of the run by number. Candidates that it holds no chunk of have
    numbers of their own behind these.
    """

    def __init__(self, chunks: Mapping[str, Chunk]) -> None:
        self.chunks = tuple(chunks.values())
        self.hits = NumberLists()
        self._numbers = _Numbers((id_, number) for number, id_ in enumerate(chunks))
        self._entries: list[tuple[Entry, ...]] = []  # of a row
        self._begins = array("q")  # of the lists of a row
        self._candidates = NumberLists()  # of an entry
        self._known: dict[tuple[Entry, ...], tuple[Entry, ...]] = {}

    def add(self, hits: list[str], trace: Iterable[tuple[str, str, list[str]]]) -> None:
        """Add the ids of the hits, and the name, kind and candidates of each entry of the trace.

        A candidate that is listed again counts once. Raises KeyError if the run has no chunk of a
        hit.
        """
        found = list(map(self._numbers.__getitem__, hits))
        if (highest := max(found, default=-1)) >= len(self.chunks):
            raise KeyError(hits[found.index(highest)])
        self.hits.add(found)
        self._begins.append(len(self._candidates))
        entries = []
        for name, kind, candidates in trace:
            entries.append((name, kind))
            if candidates == hits:  # as often, and much the faster to find out
                self._candidates.add(found)
            else:
                self._candidates.add(dict.fromkeys(map(self._numbers.__getitem__, candidates)))
        self._entries.append(self._known.setdefault(tuple(entries), tuple(entries)))

    def add_row(self, row: Mapping[str, Any]) -> None:
        """Add a ranking in the form of `assay.eval.runs.rows.encode_ranking`."""
        trace = row["trace"]
        self.add(
            [hit[0] for hit in row["hits"]],
            [(name, kind, [pair[0] for pair in listed]) for name, kind, _, listed, *_ in trace],
        )

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


def read_lists(rankings: Iterable[Ranking]) -> RankedLists:
    """Return the lists of rankings, each of which is read once."""
    chunks: dict[str, Chunk] = {}
    rows = []
    for ranking in rankings:
        for chunk in (*(hit.chunk for hit in ranking.hits), *ranking.others):
            chunks.setdefault(chunk.id, chunk)
        trace = [(i.name, i.kind, [id_ for id_, _ in i.candidates]) for i in ranking.trace]
        rows.append(([hit.chunk.id for hit in ranking.hits], trace))
    lists = RankedLists(chunks)
    for hits, trace in rows:
        lists.add(hits, trace)
    return lists


class _Numbers(dict[str, int]):
    """Numbers by id; one that is not known gets the next."""

    def __missing__(self, id_: str) -> int:
        number = self[id_] = len(self)
        return number
