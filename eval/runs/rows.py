"""The rows of a stored run's files: reading and writing lines of JSON."""

import hashlib
import mmap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from assay.retrievers.base import CUT, AssayError, Chunk, Hit, LegRank, Ranking, StageTrace
from assay.retrievers.base.answers import rises

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

RETRIES = "retries"  # among the counts of a trace: calls that failed and were made again
# What a row holds of an entry of a trace, in this order.
ENTRY = attrgetter("name", "kind", "milliseconds", "candidates", "note", "counts", "waited")
RISING = "rising"  # of a ranking whose scores contradict its order


# Not frozen, which takes four times as long to make; files have tens of thousands of lines.
@dataclass(slots=True, unsafe_hash=True)
class Line:
    """A line of a JSON Lines file, from 1; lines of the same content are equal."""

    content: bytes
    path: Path = field(compare=False)
    number: int = field(compare=False)

    def parse(self) -> dict[str, Any]:
        """Return the object that it holds. Raises AssayError, naming the line, where it is none."""
        try:
            row = from_json(self.content)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise AssayError(f"{self.path}:{self.number}: not a row of a stored run")
        return row


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a JSON Lines file; a torn last line, left by a kill, is passed over.

    Raises AssayError, naming the line, for one that holds no object.
    """
    return (line.parse() for line in read_lines(path))


def read_lines(path: Path) -> Iterator[Line]:
    """Yield the lines of a file, but a torn last one; none where there is no file."""
    content = map_file(path)
    return (Line(content[begin:end], path, i) for i, begin, end in find_lines(content))


def map_file(path: Path) -> bytes | mmap.mmap:
    """Return the content of a file, b"" if there is none.

    It is memory-mapped: the system can free the pages that it holds.
    """
    if not path.exists() or not path.stat().st_size:
        return b""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def find_lines(content: bytes | mmap.mmap) -> Iterator[tuple[int, int, int]]:
    """Yield number, begin and end of each line, but a torn last one."""
    number, begin = 1, 0
    while (end := content.find(b"\n", begin)) >= 0:
        yield number, begin, end
        number, begin = number + 1, end + 1


def as_row(value: "DataclassInstance") -> dict[str, Any]:
    """Return the fields of an object whose values JSON knows.

    `dataclasses.asdict` copies every value, which takes ten times as long.
    """
    return {name: getattr(value, name) for name in _list_fields(type(value))}


@cache
def _list_fields(kind: "type[DataclassInstance]") -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def digest_line(line: str) -> str:
    """Return the digest of a line with its end, which shows if its row was changed."""
    return hashlib.sha256(line.encode()).hexdigest()[:16]


def encode_row(row: Mapping[str, Any]) -> str:
    """Return a row as a line, with its end."""
    return f"{to_json(row).decode()}\n"


def encode_ranking(query_id: str, ranking: Ranking) -> dict[str, Any]:
    """Return the row of a ranking; `read_ranking` reads it. Scores that rise are marked."""
    row = {
        "query": query_id,
        "hits": [
            [hit.chunk.id, hit.score, {leg: [i.rank, i.score] for leg, i in hit.legs.items()}]
            for hit in ranking.hits
        ],
        "trace": list(map(ENTRY, ranking.trace)),
        "degraded": ranking.degraded,
    }
    return row | {RISING: True} if has_rising_scores(ranking) else row


def has_rising_scores(ranking: Ranking) -> bool:
    """Return True if a hit has a higher score than the one before it."""
    return rises([hit.score for hit in ranking.hits])


@dataclass
class Flaws:
    """The flaws in the rankings of a run.

    Attributes:
        degraded: The number of queries with each line of degradation.
        retries: The number of calls that failed and were repeated.
        rising: The queries whose scores contradict the order of their hits.
        cut: By step, the number of texts that a model did not read to their end.

    """

    degraded: Counter[str] = field(default_factory=Counter)
    retries: int = 0
    rising: list[str] = field(default_factory=list)
    cut: Counter[str] = field(default_factory=Counter)

    def add(
        self, query: str, degraded: Iterable[str], trace: Iterable[StageTrace], rises: bool
    ) -> None:
        """Count the flaws of the ranking of a query."""
        self.degraded.update(degraded)
        for entry in trace:
            self.retries += entry.counts.get(RETRIES, 0)
            if CUT in entry.counts:
                self.cut[entry.name] += entry.counts[CUT]
        if rises:
            self.rising.append(query)


def read_ranking(row: Mapping[str, Any], chunks: Mapping[str, Chunk]) -> Ranking:
    """Read a ranking; `chunks` are those of the run by id."""
    hits = tuple(
        Hit(chunks[id_], score, {leg: LegRank(*placed) for leg, placed in legs.items()})
        for id_, score, legs in row["hits"]
    )
    trace = read_trace(row["trace"])
    returned = {hit[0] for hit in row["hits"]}
    named = dict.fromkeys(id_ for entry in trace for id_, _ in entry.candidates)
    others = tuple(chunks[id_] for id_ in named if id_ not in returned and id_ in chunks)
    return Ranking(hits, trace, others, tuple(row["degraded"]))


def read_trace(rows: Iterable[list[Any]]) -> tuple[StageTrace, ...]:
    """Read a trace."""
    return tuple(
        StageTrace(name, kind, taken, tuple(map(tuple, candidates)), *others)
        for name, kind, taken, candidates, *others in rows
    )


def read_chunk(row: Mapping[str, Any]) -> Chunk:
    """Read a chunk."""
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in row.items()
    }
    return Chunk(**values)
