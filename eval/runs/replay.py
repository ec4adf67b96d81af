"""Rankings made elsewhere: TREC run files and JSON Lines, judged as if they were searched here."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.collections.collection import Collection
from eval.runs.answers import NamedChunks, Place, read_answer
from retrievers.base import AssayError, Chunk, Document, Hit, IndexReport, Ranking, Retriever

FORMATS = (
    "allowed: a TREC run (query-id Q0 id rank score tag, separated by white space), or JSON Lines "
    'with {"query_id": …, "ranking": [ids, best first] or null} and, if you like, "system"'
)


@dataclass(frozen=True)
class RunFile:
    """The rankings of each system in a file: passages or documents, best first, by query.

    `digest` is the SHA-256, in hex, of the file.
    """

    path: Path
    digest: str
    systems: Mapping[str, Mapping[str, Sequence[Place]]]


class Replay(Retriever):
    """Answers each query of a collection with the ranking that a system gave it elsewhere.

    A ranking may name passages that the collection prescribes, or whole documents. Queries
    without a ranking find nothing.
    """

    nondeterministic = False

    def __init__(self, file: RunFile, system: str, collection: Collection) -> None:
        """Raise AssayError where the file names what the collection lacks, or misses its queries.

        It also does where two queries of the same text have different rankings.
        """
        self._file = file
        self._chunks = NamedChunks(collection.documents)
        rankings = file.systems[system]
        if not any(query.id in rankings for query in collection.queries):
            raise AssayError(
                f"{file.path}: none of its queries is one of {collection.name} "
                f"(its first is {next(iter(rankings))})"
            )
        self._answers: dict[str, Sequence[Place]] = {}
        for query in collection.queries:
            ids = rankings.get(query.id, ())
            for id_ in ids:
                try:
                    self._chunks.find(id_)
                except AssayError as error:
                    raise AssayError(f"{file.path}: query {query.id}: {error}") from None
            if self._answers.setdefault(query.text, ids) != ids:
                raise AssayError(
                    f"{file.path}: query {query.id}: another query has the same text and "
                    "another ranking; one of them must go"
                )

    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Do nothing: the rankings are there."""
        return IndexReport(len(self._chunks.list()))

    def search(self, query: str, k: int) -> Ranking:
        """Return the first `k` of the ranking, with 1 / rank for scores."""
        ids = self._answers.get(query, ())[:k]
        return Ranking(
            tuple(Hit(self._chunks.find(id_), 1 / rank) for rank, id_ in enumerate(ids, start=1))
        )

    def list_chunks(self) -> Sequence[Chunk]:
        """Return what the rankings could name."""
        return self._chunks.list()

    def facts(self) -> Mapping[str, Any]:
        """Return the digest of the file."""
        return {"run_file": self._file.digest}


def read_run_file(path: Path) -> RunFile:
    """Read a run file. Raises AssayError naming the line where it is not one."""
    try:
        content = path.read_bytes()
        lines = content.decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise AssayError(f"{path}: cannot be read: {error}") from None
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not numbered:
        raise AssayError(f"{path}: empty; {FORMATS}")
    read = _read_json if numbered[0][1].lstrip().startswith("{") else _read_trec
    systems = read(path, numbered)
    for system, rankings in systems.items():
        for query, ids in rankings.items():
            if len(set(ids)) < len(ids):
                raise AssayError(f"{path}: {system}, query {query}: an id stands there twice")
    return RunFile(path, hashlib.sha256(content).hexdigest(), systems)


def make_run_file(rankings: Mapping[Any, Any], name: str) -> RunFile:
    """Return rankings that are here in Python as if they had been read from a file.

    They are by query id; `eval.runs.answers` says what each may be. Raises AssayError.
    """
    places: dict[str, Sequence[Place]] = {}
    for query, answer in rankings.items():
        try:
            places[str(query)] = tuple(place for place, _ in read_answer(answer))
        except AssayError as error:
            raise AssayError(f"{name}: query {query}: {error}") from None
    if not places:
        raise AssayError(f"{name}: empty; a ranking is {{query id: [(id, score), …]}}")
    content = json.dumps(places, sort_keys=True).encode()
    return RunFile(Path(name), hashlib.sha256(content).hexdigest(), {name: places})


def _read_json(path: Path, lines: Sequence[tuple[int, str]]) -> dict[str, dict[str, Sequence[str]]]:
    systems: dict[str, dict[str, Sequence[str]]] = {}
    for number, line in lines:
        try:
            row = json.loads(line)
            system, query = row.get("system", path.stem), row["query_id"]
            ids = row["ranking"] or []
        except (ValueError, KeyError, AttributeError, RecursionError):
            raise AssayError(f"{path}:{number}: not a ranking; {FORMATS}") from None
        if not isinstance(ids, list) or not all(isinstance(id_, str) for id_ in ids):
            raise AssayError(f"{path}:{number}: `ranking` is not a list of ids; {FORMATS}")
        rankings = systems.setdefault(str(system), {})
        if str(query) in rankings:
            raise AssayError(f"{path}:{number}: query {query} has a ranking already")
        rankings[str(query)] = tuple(ids)
    return systems


def _read_trec(path: Path, lines: Sequence[tuple[int, str]]) -> dict[str, dict[str, Sequence[str]]]:
    """Read a TREC run, ordered as trec_eval does: by falling score, ties by descending id."""
    scored: dict[str, dict[str, list[tuple[float, str]]]] = {}
    for number, line in lines:
        parts = line.split()
        try:
            query, _, id_, _, text, tag = parts
            score = float(text)
        except ValueError:
            raise AssayError(f"{path}:{number}: not a line of a TREC run; {FORMATS}") from None
        if not math.isfinite(score):
            raise AssayError(f"{path}:{number}: the score {text} is not a finite number")
        scored.setdefault(tag, {}).setdefault(query, []).append((score, id_))
    return {
        tag: {
            query: tuple(id_ for _, id_ in sorted(pairs, reverse=True))
            for query, pairs in rankings.items()
        }
        for tag, rankings in scored.items()
    }
