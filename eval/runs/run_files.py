"""Files of rankings: TREC runs and JSON Lines, packed or not."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.eval.collections.formats.reading import read_text
from assay.eval.collections.problems import Problems
from assay.eval.runs.trec_runs import FORMATS, Ties, read_trec, split_lines
from assay.retrievers.base import STEP_KINDS, AssayError, cut
from assay.retrievers.base.answers import Place, describe_rising, read_answer, rises
from assay.retrievers.base.json_text import check_depth, parse_json, read_object
from assay.retrievers.store.digest import digest_file

Systems = Mapping[str, Mapping[str, Sequence[Place]]]
STEPS = (
    '`steps` are [{"name": …, "kind": …, "ranking": […], "milliseconds": …}, …], each kind one of '
    + ", ".join(STEP_KINDS)
)


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """The output of one step of a search made elsewhere, best first; () for one without a list."""

    name: str
    kind: str
    milliseconds: float
    places: tuple[Place, ...]


@dataclass(frozen=True)
class RunFile:
    """The rankings of each system in a file: passages or documents, best first, by query.

    `digest` is the SHA-256, in hex, of the file; `notes` are lines on oddities in it. `steps` are
    those of the same searches, if the file has them.
    """

    path: Path
    digest: str
    systems: Systems
    notes: tuple[str, ...] = ()
    steps: Mapping[str, Mapping[str, Sequence[RecordedStep]]] = field(default_factory=dict)


def read_run_file(path: Path, ties: Ties = "ranks") -> RunFile:
    """Read a run file, packed by gzip or not. Raises AssayError naming the line that is wrong.

    `ties` is the order of hits of a TREC run with equal scores: by `ranks`, and by lines if these
    are equal too, or by `ids` alone. trec_eval reads scores in single precision and uses ids.
    """
    text = read_text(path, Problems(strict=True))
    begin = text.lstrip()
    if not begin:
        raise AssayError(f"{path}: empty; {FORMATS}")
    if begin.startswith(("{", "[")):
        return RunFile(path, digest_file(path), *_read_json(path, list(_list_rows(path, text))))
    systems, notes = read_trec(path, text, ties)
    return RunFile(path, digest_file(path), systems, notes)


def make_run_file(rankings: Mapping[Any, Any], name: str) -> RunFile:
    """Return rankings given as Python objects as if they had been read from a file.

    They are by query id; `assay.retrievers.base.answers` describes the allowed values. Raises
    AssayError.
    """
    places: dict[str, Sequence[Place]] = {}
    rising = []
    for query, answer in rankings.items():
        if str(query) in places:
            raise AssayError(f"{name}: query {query} has a ranking already; keep ids as text")
        try:
            hits = read_answer(answer)
        except AssayError as error:
            raise AssayError(f"{name}: query {query}: {error}") from None
        places[str(query)] = tuple(place for place, _ in hits)
        if rises([score for _, score in hits]):
            rising.append(str(query))
    if not places:
        raise AssayError(f"{name}: empty; a ranking is {{query id: [(id, score), …]}}")
    content = json.dumps(places, sort_keys=True).encode()
    notes = _describe_rising(name, {name: rising}, {name: places})
    return RunFile(Path(name), hashlib.sha256(content).hexdigest(), {name: places}, notes)


def _list_rows(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    """Yield the rows of JSON Lines, each with its place, or of one JSON document.

    A document is a list of such rows, or an object of rankings by query id.
    """
    try:
        whole = json.loads(text, object_pairs_hook=read_object)
        check_depth(whole)
    except (ValueError, RecursionError) as error:
        if not isinstance(error, json.JSONDecodeError | RecursionError):
            raise AssayError(f"{path}: {error}") from None
        for number, line in enumerate(split_lines(text), start=1):
            if line.strip():
                try:
                    yield f"{path}:{number}", parse_json(line)
                except json.JSONDecodeError:
                    raise AssayError(f"{path}:{number}: not a ranking; {FORMATS}") from None
                except ValueError as error:
                    raise AssayError(f"{path}:{number}: {error}") from None
        return
    if isinstance(whole, list):
        yield from ((f"{path}: item {i}", row) for i, row in enumerate(whole, start=1))
    elif "query_id" in whole:
        yield f"{path}:1", whole
    else:
        for query, ranking in whole.items():
            yield f"{path}: {cut(query)}", {"query_id": query, "ranking": ranking}


def _read_json(
    path: Path, rows: Iterable[tuple[str, Any]]
) -> tuple[Systems, tuple[str, ...], Mapping[str, Mapping[str, Sequence[RecordedStep]]]]:
    systems: dict[str, dict[str, Sequence[Place]]] = {}
    steps: dict[str, dict[str, Sequence[RecordedStep]]] = {}
    rising: dict[str, list[str]] = {}
    for place, row in rows:
        try:
            system, query = row.get("system", path.stem), row["query_id"]
            hits = row["ranking"] or []
        except (KeyError, AttributeError):
            raise AssayError(f"{place}: not a ranking; {FORMATS}") from None
        if not isinstance(hits, list | dict):
            raise AssayError(f"{place}: `ranking` is not a list of hits; {FORMATS}")
        try:
            read = read_answer(hits)
        except AssayError as error:
            raise AssayError(f"{place}: {error}") from None
        if len(read) < len(hits):
            raise AssayError(f"{place}: query {query}: a hit stands there twice")
        rankings = systems.setdefault(str(system), {})
        if str(query) in rankings:
            raise AssayError(f"{place}: query {query} has a ranking already")
        rankings[str(query)] = tuple(found for found, _ in read)
        if rises([score for _, score in read]):
            rising.setdefault(str(system), []).append(str(query))
        if row.get("steps"):
            try:
                told = tuple(map(_read_step, row["steps"]))
            except (AssayError, KeyError, TypeError, ValueError, AttributeError):
                raise AssayError(f"{place}: query {query}: {STEPS}") from None
            steps.setdefault(str(system), {})[str(query)] = told
    return systems, _describe_rising(path, rising, systems), steps


def _read_step(step: Mapping[str, Any]) -> RecordedStep:
    if step["kind"] not in STEP_KINDS or not isinstance(step["name"], str):
        raise ValueError
    places = tuple(place for place, _ in read_answer(step.get("ranking") or []))
    taken = float(step.get("milliseconds", 0))
    return RecordedStep(step["name"], step["kind"], taken, places)


def _describe_rising(
    path: Path | str, rising: Mapping[str, Sequence[str]], systems: Systems
) -> tuple[str, ...]:
    """Return a note for each system on the queries whose scores contradict the order of hits."""
    return tuple(
        ": ".join(
            dict.fromkeys(
                [str(path), system, describe_rising(len(odd), len(systems[system]), odd[0])]
            )
        )
        for system, odd in rising.items()
        if odd
    )
