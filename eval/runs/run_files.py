"""Files of rankings: TREC runs and JSON Lines, packed or not."""

import hashlib
import io
import json
import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

from eval.collections.formats.reading import read_text
from eval.collections.problems import Problems
from retrievers.base import AssayError, cut
from retrievers.base.answers import Place, read_answer
from retrievers.store.digest import digest_file

FORMATS = (
    "allowed: a TREC run (query-id Q0 id rank score tag, separated by white space), or JSON Lines "
    'with {"query_id": …, "ranking": [hits, best first] or null} and, if you like, "system"'
)
COLUMNS = 6
# By what hits of equal scores are ordered in a TREC run.
Ties = Literal["ranks", "ids"]


@dataclass(frozen=True)
class RunFile:
    """The rankings of each system in a file: passages or documents, best first, by query.

    `digest` is the SHA-256, in hex, of the file; `notes` are lines on what is odd in it.
    """

    path: Path
    digest: str
    systems: Mapping[str, Mapping[str, Sequence[Place]]]
    notes: tuple[str, ...] = ()


def read_run_file(path: Path, ties: Ties = "ranks") -> RunFile:
    """Read a run file, unpacked if it ends in .gz. Raises AssayError naming the line that is wrong.

    `ties` says by what hits of a TREC run stand whose scores are equal: by `ranks`, and descending
    ids where these are equal too, or by `ids` alone. trec_eval reads scores in single precision and
    goes by ids.
    """
    lines = list(io.StringIO(read_text(path, Problems(strict=True)), newline=None))
    first = next(filter(None, map(str.strip, lines)), "")
    if not first:
        raise AssayError(f"{path}: empty; {FORMATS}")
    notes: Notes = ()
    if first.startswith("{"):
        systems = _read_json(path, lines)
    else:
        systems, notes = _read_trec(path, lines, ties)
    return RunFile(path, digest_file(path), systems, notes)


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


def _read_json(path: Path, lines: Sequence[str]) -> Systems:
    systems: Systems = {}
    for number, line in enumerate(lines, start=1):
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
    return systems


def _read_trec(path: Path, lines: Sequence[str], ties: Ties) -> tuple[Systems, Notes]:
    """Read a TREC run: by falling score, equal scores as `ties` says."""
    scored: dict[str, dict[str, dict[str, tuple[float, int]]]] = {}
    last: tuple[str, str] | None = None
    hits: dict[str, tuple[float, int]] = {}
    for number, line in enumerate(lines, start=1):
        parts = line.split()
        if not parts:
            continue
        at = f"{path}:{number}"
        query, id_, tag, score, rank = _read_line(parts, at)
        if (tag, query) != last:
            last, hits = (tag, query), scored.setdefault(tag, {}).setdefault(query, {})
        if id_ in hits:
            raise AssayError(f"{at}: {cut(id_)} is ranked already by {cut(tag)} for {cut(query)}")
        hits[id_] = score, rank
    systems: Systems = {}
    notes = []
    for tag, rankings in scored.items():
        systems[tag] = {}
        tied = against = 0
        for query, hits in rankings.items():
            ranked, by_id = _order(hits)
            ranks = [hits[id_][1] for id_ in ranked]
            tied += ranked != by_id
            against += ranks != sorted(ranks)
            systems[tag][query] = tuple(by_id if ties == "ids" else ranked)
        where = f"{path}: {cut(tag)}: in %d of {len(rankings)} queries"
        if tied and ties == "ranks":
            notes.append(
                f"{where % tied} scores are equal; there the ranks decide, where trec_eval goes by "
                "id (--ties ids)"
            )
        if against:
            notes.append(f"{where % against} ranks contradict scores; the scores decide")
    return systems, tuple(notes)


def _order(hits: Mapping[str, tuple[float, int]]) -> tuple[list[str], list[str]]:
    """Return ids by falling score: equal ones by rank, then descending id; and by id alone."""
    descending = sorted(hits, reverse=True)
    ranked = sorted(descending, key=lambda id_: (-hits[id_][0], hits[id_][1]))
    single = dict(zip(hits, array("f", map(itemgetter(0), hits.values())), strict=True))
    if len(set(single.values())) == len(hits):
        return ranked, ranked
    return ranked, sorted(descending, key=single.__getitem__, reverse=True)


def _read_line(parts: Sequence[str], at: str) -> tuple[str, str, str, float, int]:
    """Return query, id, tag, score and rank of a line. Raises AssayError with `at`."""
    if len(parts) != COLUMNS:
        raise AssayError(f"{at}: not {COLUMNS} columns but {len(parts)}; {FORMATS}")
    query, _, id_, place, text, tag = parts
    try:
        score = float(text)
    except ValueError:
        raise AssayError(f"{at}: the score {cut(text)} is not a number; {FORMATS}") from None
    if not math.isfinite(score):
        raise AssayError(f"{at}: the score {text} is not a finite number")
    try:
        return query, id_, tag, score, int(place)
    except ValueError:
        raise AssayError(f"{at}: the rank {cut(place)} is not a whole number; {FORMATS}") from None
