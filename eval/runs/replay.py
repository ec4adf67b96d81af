"""Rankings made elsewhere: TREC run files and JSON Lines, judged as if they were searched here."""

import codecs
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from eval.collections.collection import Collection
from eval.runs.trec_runs import FORMATS, read_trec, split_lines
from retrievers.base import (
    AssayError,
    Chunk,
    Document,
    Hit,
    IndexReport,
    Ranking,
    Retriever,
    explain_os_error,
)
from retrievers.base.answers import NamedChunks, Place, read_answer

# What becomes of queries of the collection that have no ranking.
FAIL, ZERO, DROP = "fail", "zero", "drop"


@dataclass(frozen=True)
class RunFile:
    """The rankings of each system in a file: passages or documents, best first, by query.

    `digest` is the SHA-256, in hex, of the file; `notes` are lines on what is odd in it.
    """

    path: Path
    digest: str
    systems: Mapping[str, Mapping[str, Sequence[Place]]]
    notes: tuple[str, ...] = ()


class Replay(Retriever):
    """Answers each query of a collection with the ranking that a system gave it elsewhere.

    A ranking may name passages that the collection prescribes, or whole documents. Queries
    without a ranking find nothing.
    """

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
        self._answers: dict[str, Sequence[Chunk]] = {}
        find = cache(self._chunks.find)
        for query in collection.queries:
            try:
                found = list(map(find, rankings.get(query.id, ())))
            except AssayError as error:
                raise AssayError(f"{file.path}: query {query.id}: {error}") from None
            if len({chunk.id for chunk in found}) < len(found):
                # A place was named twice: by an id, by a span, by its text.
                found = list({chunk.id: chunk for chunk in found[::-1]}.values())[::-1]
            if self._answers.setdefault(query.text, found) != found:
                raise AssayError(
                    f"{file.path}: query {query.id}: another query has the same text and "
                    "another ranking; one of them must go"
                )

    def index(self, documents: Sequence[Document]) -> IndexReport:
        """Do nothing: the rankings are there."""
        return IndexReport(len(self._chunks.list()))

    def search(self, query: str, k: int) -> Ranking:
        """Return the first `k` of the ranking, with 1 / rank for scores."""
        found = self._answers.get(query, ())[:k]
        return Ranking(tuple(Hit(chunk, 1 / rank) for rank, chunk in enumerate(found, start=1)))

    def list_chunks(self) -> Sequence[Chunk]:
        """Return what the rankings could name."""
        return self._chunks.list()

    def facts(self) -> Mapping[str, Any]:
        """Return the digest of the file."""
        return {"run_file": self._file.digest}


def cover(
    file: RunFile, system: str, collection: Collection, missing: str
) -> tuple[Collection, list[str]]:
    """Return what of `collection` a system is judged on, and lines on what does not match.

    Queries without a ranking are refused (`fail`), score 0 (`zero`) or are left out (`drop`).
    Raises AssayError.
    """
    rankings = file.systems[system]
    known = {query.id for query in collection.queries}
    kept = tuple(query for query in collection.queries if query.id in rankings)
    lacking = [query.id for query in collection.queries if query.id not in rankings]
    notes = []
    if unknown := rankings.keys() - known:
        notes.append(
            f"{len(unknown)} of its {len(rankings)} queries are not judged in {collection.name} "
            "and are passed over"
        )
    if lacking and kept:
        what = f"{len(lacking)} of the {len(known)} queries of {collection.name} have no ranking"
        if missing == FAIL:
            raise AssayError(
                f"{file.path}: {system}: {what}, the first {lacking[0]}; allowed with --missing "
                f"{ZERO}, by which they score 0, or --missing {DROP}, by which they are left out"
            )
        notes.append(f"{what} and {'score 0' if missing == ZERO else 'are left out'}")
        if missing == DROP:
            gold = {query.id: collection.gold[query.id] for query in kept}
            collection = replace(collection, queries=kept, gold=gold)
    return collection, [f"{file.path}: {system}: {note}" for note in notes]


def describe_cut(file: RunFile, system: str, depth: int) -> list[str]:
    """Return a line on the rankings of a system of which only the first `depth` hits are judged."""
    rankings = file.systems[system].values()
    deeper = sum(len(ranking) > depth for ranking in rankings)
    if not deeper:
        return []
    return [
        f"{file.path}: {system}: {deeper} of its {len(rankings)} rankings are cut to their first "
        f"{depth} hits, of up to {max(map(len, rankings))}"
    ]


def read_run_file(path: Path) -> RunFile:
    """Read a run file. Raises AssayError naming the line where it is not one."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise AssayError(explain_os_error(error, path)) from None
    is_json = content.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{")
    systems, notes = (_read_json if is_json else read_trec)(path, content)
    if not systems:
        raise AssayError(f"{path}: empty; {FORMATS}")
    for system, rankings in systems.items():
        for query, ids in rankings.items():
            if len(set(ids)) < len(ids):
                raise AssayError(f"{path}: {system}, query {query}: an id stands there twice")
    return RunFile(path, hashlib.sha256(content).hexdigest(), systems, notes)


def make_run_file(rankings: Mapping[Any, Any], name: str) -> RunFile:
    """Return rankings that are here in Python as if they had been read from a file.

    They are by query id; `retrievers.base.answers` says what each may be. Raises AssayError.
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


Systems = dict[str, dict[str, Sequence[Place]]]
Notes = tuple[str, ...]


def _read_json(path: Path, content: bytes) -> tuple[Systems, Notes]:
    systems: Systems = {}
    for number, line in enumerate(split_lines(path, content), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            system, query = row.get("system", path.stem), row["query_id"]
            hits = row["ranking"] or []
        except (ValueError, KeyError, AttributeError, RecursionError):
            raise AssayError(f"{path}:{number}: not a ranking; {FORMATS}") from None
        if not isinstance(hits, list):
            raise AssayError(f"{path}:{number}: `ranking` is not a list of hits; {FORMATS}")
        try:
            places = tuple(place for place, _ in read_answer(hits))
        except AssayError as error:
            raise AssayError(f"{path}:{number}: {error}") from None
        if len(places) < len(hits):
            raise AssayError(f"{path}:{number}: query {query}: a hit stands there twice")
        rankings = systems.setdefault(str(system), {})
        if str(query) in rankings:
            raise AssayError(f"{path}:{number}: query {query} has a ranking already")
        rankings[str(query)] = places
    return systems, ()
