"""The files of a stored run, read so that runs beside each other share what they have in common.

Runs on one collection hold the same queries, gold and passages to the byte. Every reader raises
AssayError for a line that holds no object, and errors of other classes for one that holds another.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import from_json

from assay.eval.collections.collection import GoldItem, Query
from assay.eval.runs.gold_ranks import GoldRank
from assay.eval.runs.lazy_mapping import LazyMapping
from assay.eval.runs.rows import Line, read_chunk, read_lines, read_ranking, read_rows
from assay.retrievers.base import AssayError, Chunk, Ranking, T

# How the line of a query begins, and how that of a ranking without hits goes on.
QUERY = re.compile(rb'\{"query":("(?:[^"\\]|\\.)*"),')
NO_HITS = b'"hits":[],'


class Passage(NamedTuple):
    """A chunk that some stage put out; `prescribed` where it is a passage of the collection."""

    chunk: Chunk
    prescribed: bool


class Gold(NamedTuple):
    """The gold items by query id, and the texts of the relevant ones by item id."""

    items: Mapping[str, tuple[GoldItem, ...]]
    texts: Mapping[str, str]


class StoredRankings(LazyMapping[Ranking]):
    """The rankings by query id, each read when it is first asked for.

    `empty` are the queries for which nothing is returned. A ranking that is damaged or not there
    is an AssayError.
    """

    def __init__(self, path: Path, queries: Collection[str], chunks: Mapping[str, Chunk]) -> None:
        lines = _index(path)
        if lacking := [query for query in queries if query not in lines]:
            found = f'no ranking of the query "{lacking[0]}"'
            others = f", nor of {len(lacking) - 1} others" if lacking[1:] else ""
            raise AssayError(f"{path}: damaged: {found}{others}; make the run again")
        super().__init__(queries, lambda query: _read(lines[query], read_ranking, chunks))
        self.empty = frozenset(query for query in self if _is_empty(lines[query]))


def read_queries(path: Path) -> Mapping[str, Query]:
    """Return the queries by id."""
    return _parse_queries(_Content.of(path))


def read_gold(path: Path) -> Gold:
    """Return the judgments."""
    return _parse_gold(_Content.of(path))


def read_passages(path: Path) -> list[Passage]:
    """Return the passages."""
    return list(map(_parse_passage, read_lines(path)))


def read_gold_ranks(path: Path) -> Mapping[str, Mapping[str, GoldRank]]:
    """Return the ranks of gold items by query, each read when it is first asked for.

    Of a query that was searched again after a kill, the later stand.
    """
    lines = _index(path)
    return LazyMapping(lines, lambda query: _read(lines[query], _read_placed))


def _read_placed(row: Mapping[str, Any]) -> dict[str, GoldRank]:
    return {item: GoldRank(**gold_rank) for item, gold_rank in row["items"].items()}


def _read(line: Line, read: Callable[..., T], *others: Any) -> T:
    """Return what `read` makes of the row in a line. Raises AssayError where it is damaged."""
    row = line.parse()
    try:
        return read(row, *others)
    except (LookupError, TypeError, ValueError) as error:
        raise AssayError(f"{line.path.parent}: its files are damaged: {error!r}") from error


def _index(path: Path) -> dict[str, Line]:
    """Return the lines of a file by the queries that they are of; the last of each stands."""
    found: dict[str, Line] = {}
    for line in read_lines(path):
        match = QUERY.match(line.content)
        found[from_json(match[1]) if match else line.parse()["query"]] = line
    return found


def _is_empty(line: Line) -> bool:
    match = QUERY.match(line.content)
    if match and line.content.startswith(b'"hits":[', match.end()):
        return line.content.startswith(NO_HITS, match.end())
    return not line.parse()["hits"]


@dataclass(frozen=True)
class _Content:
    """What stands in a file; files of the same content are equal."""

    content: bytes
    path: Path = field(compare=False)

    def __hash__(self) -> int:
        """Go by the length: going through all of it takes longer than comparing it."""
        return len(self.content)

    @classmethod
    def of(cls, path: Path) -> "_Content":
        return cls(path.read_bytes() if path.exists() else b"", path)


@lru_cache(maxsize=1)
def _parse_queries(file: _Content) -> dict[str, Query]:
    return {row["id"]: Query(**row) for row in read_rows(file.path)}


@lru_cache(maxsize=1)
def _parse_gold(file: _Content) -> Gold:
    items: dict[str, list[GoldItem]] = {}
    texts: dict[str, str] = {}
    for row in read_rows(file.path):
        text = row.pop("text", None)
        if text is not None:
            texts[row["id"]] = text
        items.setdefault(row["query_id"], []).append(GoldItem(**row))
    return Gold({query: tuple(of_query) for query, of_query in items.items()}, texts)


@lru_cache(maxsize=2**15)
def _parse_passage(line: Line) -> Passage:
    row = line.parse()
    return Passage(read_chunk(row["chunk"]), row["prescribed"])
