"""Stored runs: one folder each, written as the run goes and complete once `manifest.json` stands.

    manifest.json        what was run, on what, by what code, where, and how long it took
    config.yaml          the resolved config
    queries.jsonl        the queries, and their gold items with their texts in gold.jsonl
    rankings.jsonl       a line a query: hits, trace, degradation
    passages.jsonl       every chunk that some stage of some query put out
    placements.jsonl     a line a query: its gold items among all chunks, past the legs' depths
    latency.jsonl        a line a timed query

Everything a report says is computed from these files alone.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from eval.collections.collection import GoldItem, Query
from eval.runs.gold_ranks import Placement
from eval.runs.latency import RETRIES, LatencySample
from eval.runs.token_counts import TokenCounts
from eval.scoring.join import JoinedHit, Retrieved, join
from eval.scoring.kinds import show_name
from retrievers.base import (
    AssayError,
    Chunk,
    Hit,
    Placed,
    Ranking,
    StageTrace,
    T,
)
from retrievers.base.suggestions import suggest
from retrievers.settings import explain_error
from retrievers.store.files import append, write_atomically, writing
from retrievers.store.paths import parse_path

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FORMAT = 2
MANIFEST = "manifest.json"
DIGEST = "digest"  # of the rest of a line


class IndexFacts(BaseModel):
    """What indexing took: seconds of the work by stage, `cached` naming those not done again.

    `facts` is what a retriever tells of its chunks (see `retrievers.base.IndexReport`).
    """

    chunks: int
    seconds: dict[str, float]
    bytes: int
    cached: list[str]
    facts: dict[str, Any] = {}

    @property
    def tokens(self) -> TokenCounts:
        """The tokens of the chunks that were cut; none where the retriever does not tell."""
        pairs = self.facts.get("tokens", ())
        return TokenCounts.of(size for size, number in pairs for _ in range(number))


def describe_unread(index: IndexFacts) -> str:
    """Say how many chunks the encoders of a pipeline do not read to the end; "" where none."""
    unread = index.facts.get("unread")
    if not unread:
        return ""
    return (
        f"{unread:,} of {index.chunks:,} chunks are not read to the end: the encoder reads "
        f"{index.facts['window']:,} tokens, and search by it does not see the rest"
    )


def describe_without_hits(run: "StoredRun") -> str:
    """Say of how many queries a run returns nothing though there is an answer; "" where of none."""
    if not run.without_hits:
        return ""
    return f"nothing is returned for {len(run.without_hits):,} of {len(run.queries):,} queries"


class CollectionFacts(BaseModel):
    """Which collection was judged on; `digest` covers documents, queries, gold and options.

    `answers_from` is the least grade of a text that answers its query.
    """

    name: str
    title: str
    source: str
    licence: str
    digest: str
    documents: int
    queries: int
    judgments: int
    drop_self_matches: bool
    answers_from: int = 1


class Manifest(BaseModel):
    """The identity and circumstances of a run.

    `retries` is the number of calls, in searches that are stored or timed, that failed and were
    made again; what they cost is in no latency. `seconds` are those of the call that finished the
    run, indexing included; None in runs of before they were kept.
    """

    model_config = ConfigDict(extra="forbid")

    format: int
    id: str
    name: str
    created: str
    identity: str
    config: dict[str, Any]
    collection: CollectionFacts
    facts: dict[str, Any]
    environment: dict[str, Any]
    index: IndexFacts
    degraded: dict[str, int]
    retries: int = 0
    depth: int
    sampled: bool
    join_rule: str
    throughput: float | None
    concurrency: int
    seconds: float | None = None

    @field_validator("config")
    @classmethod
    def _name_measures_as_shown(cls, config: dict[str, Any]) -> dict[str, Any]:
        """Read runs of earlier versions, whose configs have ir-measures' names."""
        if names := config.get("measures"):
            return {**config, "measures": list(map(show_name, names))}
        return config


@dataclass(frozen=True)
class StoredRun:
    """A finished run, as read from its folder.

    Mappings are by query id, but for `gold_texts`, by the id of a relevant gold item; `placements`
    are by query id and then by the id of a gold item.
    """

    folder: Path
    manifest: Manifest
    queries: Mapping[str, Query]
    gold: Mapping[str, tuple[GoldItem, ...]]
    gold_texts: Mapping[str, str]
    rankings: Mapping[str, Ranking]
    placements: Mapping[str, Mapping[str, Placement]]
    prescribed: Set[str]
    latency: tuple[LatencySample, ...]

    @cached_property
    def joined(self) -> Mapping[str, list[JoinedHit]]:
        """Every ranking with its judgments joined."""
        chunks = {id(hit.chunk): hit.chunk for item in self.rankings.values() for hit in item.hits}
        known = {name: Retrieved(at, at.id in self.prescribed) for name, at in chunks.items()}
        return {
            query: join([known[id(hit.chunk)] for hit in ranking.hits], self.gold[query])
            for query, ranking in self.rankings.items()
        }

    @cached_property
    def without_hits(self) -> tuple[str, ...]:
        """The ids of the queries that something relevant was judged for and nothing is returned."""
        return tuple(
            id_
            for id_, ranking in self.rankings.items()
            if not ranking.hits and any(item.grade > 0 for item in self.gold[id_])
        )

    def take(self, queries: Container[str]) -> "StoredRun":
        """Return this run with some of its queries alone; what its folder holds stays."""
        return replace(
            self,
            queries=_take(self.queries, queries),
            gold=_take(self.gold, queries),
            rankings=_take(self.rankings, queries),
            placements=_take(self.placements, queries),
            latency=tuple(sample for sample in self.latency if sample.query_id in queries),
        )


class RunFolder:
    """The folder of a run while it is being made; all writing goes through here.

    It is there from the first writing on: a run that fails before leaves none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._passages = {row["chunk"]["id"] for row in read_rows(self.path / "passages.jsonl")}

    def finished_queries(self) -> set[str]:
        """Return the ids of the queries whose ranking is already stored.

        Raises AssayError for one that is not as it was stored.
        """
        path = self.path / "rankings.jsonl"
        found = set()
        for row in read_rows(path):
            stored = row.pop(DIGEST, None)  # not in runs of earlier versions
            query = row.get("query")
            if not isinstance(query, str) or stored not in (None, _digest(row)):
                raise AssayError(
                    f"{path}: the ranking of query {query} was changed since it was stored; "
                    f"remove {self.path} to search again"
                )
            found.add(query)
        return found

    def count_degraded(self) -> dict[str, int]:
        """Return each line of degradation with the number of queries it befell."""
        rows = read_rows(self.path / "rankings.jsonl")
        return dict(Counter(line for row in rows for line in row["degraded"]))

    def count_retries(self) -> int:
        """Return how many calls were made again for the rankings that are stored."""
        rows = read_rows(self.path / "rankings.jsonl")
        traces = (_read_trace(row["trace"]) for row in rows)
        return sum(entry.counts.get(RETRIES, 0) for trace in traces for entry in trace)

    def add_placements(self, query_id: str, placements: Mapping[str, Placement]) -> None:
        """Store the placements of a query, before its ranking: that is what finishes it."""
        items = {item: as_row(placement) for item, placement in placements.items()}
        self._append("placements.jsonl", [{"query": query_id, "items": items}])

    def add_ranking(self, query_id: str, ranking: Ranking, prescribed: Set[str]) -> None:
        """Store one ranking: first the passages it needs, then its own line."""
        named = {
            chunk.id: chunk for chunk in (*(hit.chunk for hit in ranking.hits), *ranking.others)
        }
        fresh = [chunk for id_, chunk in named.items() if id_ not in self._passages]
        rows = [{"chunk": as_row(chunk), "prescribed": chunk.id in prescribed} for chunk in fresh]
        self._append("passages.jsonl", rows)
        self._passages.update(chunk.id for chunk in fresh)
        row = _ranking_row(query_id, ranking)
        self._append("rankings.jsonl", [{**row, DIGEST: _digest(row)}])

    def write_rows(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write a JSON Lines file in one piece."""
        self.write_text(name, "".join(_line(row) for row in rows))

    def write_text(self, name: str, text: str) -> None:
        """Write a text file in one piece."""
        write_atomically(self._open(name), text.encode())

    def finish(self, manifest: Manifest) -> None:
        """Declare the run complete."""
        self.write_text(MANIFEST, manifest.model_dump_json(indent=1) + "\n")

    def _append(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        path = self._open(name)
        with writing(path):
            _drop_torn_line(path)
        append(path, "".join(_line(row) for row in rows))

    def _open(self, name: str) -> Path:
        """Make the folder where it is not there yet, and return the path of a file in it."""
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        return self.path / name


def load(folder: Path) -> StoredRun:
    """Read the finished run in `folder`.

    Raises AssayError when there is none, its format is not one this version reads, or files of it
    are damaged or hold no query.
    """
    manifest = read_manifest(folder)
    try:
        run = _load_files(folder, manifest)
    except (LookupError, TypeError, ValueError) as error:
        raise AssayError(f"{folder}: its files are damaged: {error!r}") from error
    if not run.queries:
        raise AssayError(f"{folder}: a run of no queries, which has no figures")
    return run


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of the finished run in `folder`. Raises AssayError as `load` does."""
    path = folder / MANIFEST
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise AssayError(f"{folder}: no finished run here ({MANIFEST} is missing)") from None
    except ValidationError as error:
        reason = explain_error(error)
        raise AssayError(f"{path}: not a manifest this version reads: {reason}") from None
    if manifest.format != FORMAT:
        raise AssayError(f"{path}: format {manifest.format}; this version reads {FORMAT}")
    return manifest


def _load_files(folder: Path, manifest: Manifest) -> StoredRun:
    """Read what stands beside the manifest."""
    passages = list(read_rows(folder / "passages.jsonl"))
    chunks = {row["chunk"]["id"]: _read_chunk(row["chunk"]) for row in passages}
    queries = {row["id"]: Query(**row) for row in read_rows(folder / "queries.jsonl")}
    gold: dict[str, list[GoldItem]] = {query: [] for query in queries}
    gold_texts: dict[str, str] = {}
    for row in read_rows(folder / "gold.jsonl"):
        text = row.pop("text", None)
        if text is not None:
            gold_texts[row["id"]] = text
        gold[row["query_id"]].append(GoldItem(**row))
    stored = {row["query"]: row for row in read_rows(folder / "rankings.jsonl")}
    return StoredRun(
        folder=folder,
        manifest=manifest,
        queries=queries,
        gold={query: tuple(items) for query, items in gold.items()},
        gold_texts=gold_texts,
        rankings={query: _read_ranking(stored[query], chunks) for query in queries},
        placements=_read_placements(folder),
        prescribed=frozenset(row["chunk"]["id"] for row in passages if row["prescribed"]),
        latency=tuple(LatencySample(**row) for row in read_rows(folder / "latency.jsonl")),
    )


def _take(values: Mapping[str, T], keys: Container[str]) -> dict[str, T]:
    return {key: value for key, value in values.items() if key in keys}


def find(reports: Path, reference: str) -> Path:
    """Return the folder of a run given its path, its id, or the unique beginning of its id."""
    folder = parse_path(reference, "run")
    if (folder / MANIFEST).exists():
        return folder
    found = sorted(path.parent for path in reports.glob(f"*/{MANIFEST}"))
    matching = [path for path in found if path.name.startswith(reference)]
    if len(matching) == 1 or (matching and matching[0].name == reference):
        return matching[0]
    names = ", ".join(path.name for path in (matching or found)[-5:]) or "none"
    problem = "fits several runs" if matching else "no such run"
    near = "" if matching else suggest(reference, [path.name for path in found])
    raise AssayError(f"{reference}: {problem} in {reports}; the latest there: {names}{near}")


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a JSON Lines file; a torn last line, left by a kill, is passed over.

    Raises AssayError, naming the line, for one that holds no object.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                continue
            try:
                row = json.loads(line.decode())  # of bytes it takes halves of characters
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                raise AssayError(f"{path}:{number}: not a row of a stored run")
            yield row


def as_row(value: "DataclassInstance") -> dict[str, Any]:
    """Return the fields of an object whose values JSON knows.

    `dataclasses.asdict` copies every value, which takes ten times as long.
    """
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _digest(row: Mapping[str, Any]) -> str:
    return hashlib.sha256(_line(row).encode()).hexdigest()[:16]


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"


def _drop_torn_line(path: Path) -> None:
    if not path.exists():
        return
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        if size and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)


def _ranking_row(query_id: str, ranking: Ranking) -> dict[str, Any]:
    return {
        "query": query_id,
        "hits": [
            [hit.chunk.id, hit.score, {leg: [at.rank, at.score] for leg, at in hit.legs.items()}]
            for hit in ranking.hits
        ],
        "trace": [
            [
                entry.name,
                entry.kind,
                entry.milliseconds,
                entry.candidates,
                entry.note,
                entry.counts,
                entry.waited,
            ]
            for entry in ranking.trace
        ],
        "degraded": ranking.degraded,
    }


def _read_ranking(row: Mapping[str, Any], chunks: Mapping[str, Chunk]) -> Ranking:
    hits = tuple(
        Hit(chunks[id_], score, {leg: Placed(*placed) for leg, placed in legs.items()})
        for id_, score, legs in row["hits"]
    )
    trace = _read_trace(row["trace"])
    returned = {hit.chunk.id for hit in hits}
    named = dict.fromkeys(id_ for entry in trace for id_, _ in entry.candidates)
    others = tuple(chunks[id_] for id_ in named if id_ in chunks and id_ not in returned)
    return Ranking(hits, trace, others, tuple(row["degraded"]))


def _read_trace(rows: Iterable[list[Any]]) -> tuple[StageTrace, ...]:
    """Read a trace; what was lost to retries is not in runs of earlier versions."""
    return tuple(
        StageTrace(name, kind, taken, tuple((id_, score) for id_, score in candidates), *others)
        for name, kind, taken, candidates, *others in rows
    )


def _read_placements(folder: Path) -> dict[str, dict[str, Placement]]:
    """Read the placements; of a query that was searched again after a kill, the later stand."""
    return {
        row["query"]: {item: Placement(**placement) for item, placement in row["items"].items()}
        for row in read_rows(folder / "placements.jsonl")
    }


def _read_chunk(row: Mapping[str, Any]) -> Chunk:
    fields: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in row.items()
    }
    return Chunk(**fields)
