"""The files of a stored run, read so that runs that are open together share their passages.

Every reader raises AssayError for a line that holds no JSON object, and errors of other classes for
an object of another form.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import from_json

from assay.eval.collections.collection import GoldItem, Query
from assay.eval.runs.gold_ranks import GoldRank
from assay.eval.runs.ranked_lists import RankedLists
from assay.eval.runs.rows import (
    Line,
    find_lines,
    map_file,
    read_chunk,
    read_lines,
    read_ranking,
    read_rows,
)
from assay.eval.scoring.join import RetrievedChunk
from assay.retrievers.base import AssayError, Chunk, Ranking, T
from assay.retrievers.store.digest import digest_file

# How the line of a query begins, and how that of a ranking without hits goes on.
QUERY = re.compile(rb'\{"query":("(?:[^"\\]|\\.)*"),')
NO_HITS = b'"hits":[],'
KEPT = 1_024  # rankings of a run that stay in memory, with 100 hits 70 KB each


class Gold(NamedTuple):
    """The gold items by query id, and the texts of the relevant ones by item id."""

    items: Mapping[str, tuple[GoldItem, ...]]
    texts: Mapping[str, str]


@dataclass(frozen=True)
class Content:
    """A file by its digest, wherever it lies."""

    digest: str
    path: Path = field(compare=False)


class LazyMapping(Mapping[str, T]):
    """The values of `find` for `keys`: the first `kept` are found once, others on each access.

    The kept ones do not change, so that each pass over all keys finds the same ones kept.
    """

    def __init__(self, keys: Iterable[str], find: Callable[[str], T], kept: int) -> None:
        self._keys = dict.fromkeys(keys)
        self._find = find
        self._found: dict[str, T] = {}
        self._kept = kept

    def __getitem__(self, key: str) -> T:
        """Return the value of `key`. Raises KeyError where it is none of the keys."""
        if key in self._found:
            return self._found[key]
        if key not in self._keys:
            raise KeyError(key)
        value = self._find(key)
        if self.keeps_more:
            self._found[key] = value
        return value

    @property
    def keeps_more(self) -> bool:
        """True if the next value that is found is kept."""
        return len(self._found) < self._kept

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


class StoredRankings(LazyMapping[Ranking]):
    """The rankings by query id, each read on access; few of a long run are kept.

    `empty` are the queries for which nothing is returned. A ranking that is damaged or not there
    is an AssayError.
    """

    def __init__(self, path: Path, queries: Collection[str], chunks: Mapping[str, Chunk]) -> None:
        lines = MappedLines(path)
        if lacking := [query for query in queries if query not in lines]:
            found = f'no ranking of the query "{lacking[0]}"'
            others = f", nor of {len(lacking) - 1} others" if lacking[1:] else ""
            raise AssayError(f"{path}: damaged: {found}{others}; make the run again")
        super().__init__(queries, lambda query: _read(lines[query], read_ranking, chunks), KEPT)
        self._lines = lines
        self._chunks = chunks
        self.empty = frozenset(query for query in self if _is_empty(lines[query]))

    def mentioning(self, *words: str) -> Iterator[Ranking]:
        """Yield the rankings whose lines hold one of `words`, as a key or anywhere else."""
        wanted = [word.encode() for word in words]
        for query in self:
            content = self._lines[query].content
            if any(word in content for word in wanted):
                yield self[query]

    def parse(self, query: str, read: Callable[[Mapping[str, Any]], T]) -> T:
        """Return what `read` makes of the row of a ranking. Raises AssayError if it is damaged."""
        return _read(self._lines[query], read)

    def read_lists(self) -> RankedLists:
        """Return the lists of all rankings."""
        lists = RankedLists(self._chunks)
        for query in self:
            _read(self._lines[query], lists.add_row)
        return lists


class MappedLines(Mapping[str, Line]):
    """The lines of a file by query; the last line of a query counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._content = map_file(path)
        self._places: dict[str, tuple[int, int, int]] = {}
        for place in find_lines(self._content):
            match = QUERY.match(self._content, *place[1:])
            query = from_json(match[1]) if match else self._cut(*place).parse()["query"]
            self._places[query] = place

    def __getitem__(self, query: str) -> Line:
        """Return the line of a query. Raises KeyError where there is none."""
        return self._cut(*self._places[query])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def _cut(self, number: int, begin: int, end: int) -> Line:
        return Line(self._content[begin:end], self._path, number)


def mentioning(rankings: Mapping[str, Ranking], *words: str) -> Iterator[Ranking]:
    """Yield the rankings whose rows may hold one of `words`: few stored ones are read."""
    if isinstance(rankings, StoredRankings):
        return rankings.mentioning(*words)
    return iter(rankings.values())


def read_queries(path: Path) -> Mapping[str, Query]:
    """Return the queries by id."""
    return {row["id"]: Query(**row) for row in read_rows(path)}


def read_gold(path: Path) -> Gold:
    """Return the judgments; runs of one collection that are open together share them."""
    return _parse_gold(Content(digest_file(path) if path.exists() else "", path))


@lru_cache(maxsize=2)
def _parse_gold(content: Content) -> Gold:
    items: dict[str, list[GoldItem]] = {}
    texts: dict[str, str] = {}
    for row in read_rows(content.path):
        text = row.pop("text", None)
        if text is not None:
            texts[row["id"]] = text
        items.setdefault(row["query_id"], []).append(GoldItem(**row))
    return Gold({query: tuple(of_query) for query, of_query in items.items()}, texts)


def read_passages(path: Path) -> list[RetrievedChunk]:
    """Return the chunks that some stage returned."""
    return list(map(_parse_passage, read_lines(path)))


def read_gold_ranks(path: Path) -> Mapping[str, Mapping[str, GoldRank]]:
    """Return the ranks of gold items by query, each read on access.

    If a query was searched again after an interruption, its later ranks count.
    """
    lines = MappedLines(path)
    return LazyMapping(lines, lambda query: _read(lines[query], _read_placed), KEPT)


def _read_placed(row: Mapping[str, Any]) -> dict[str, GoldRank]:
    return {item: GoldRank(**gold_rank) for item, gold_rank in row["items"].items()}


def _read(line: Line, read: Callable[..., T], *others: Any) -> T:
    """Return the row in a line as parsed by `read`. Raises AssayError if it is damaged."""
    row = line.parse()
    try:
        return read(row, *others)
    except (LookupError, TypeError, ValueError) as error:
        raise AssayError(f"{line.path.parent}: its files are damaged: {error!r}") from error


def _is_empty(line: Line) -> bool:
    match = QUERY.match(line.content)
    if match and line.content.startswith(b'"hits":[', match.end()):
        return line.content.startswith(NO_HITS, match.end())
    return not line.parse()["hits"]


@lru_cache(maxsize=2**15)
def _parse_passage(line: Line) -> RetrievedChunk:
    row = line.parse()
    return RetrievedChunk(read_chunk(row["chunk"]), row["prescribed"], row.get("unwanted", False))
