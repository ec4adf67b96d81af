"""Engines on collections: which are looked at, what is found of each, and where it is put."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from assay.eval import tracking
from assay.eval.collections.catalog import find
from assay.eval.configs.engine_settings import (
    ConfiguredEngine,
    is_missing,
    list_features,
    list_fusions,
    list_met,
    read_engine,
)
from assay.eval.configs.locations import default_dataset, reports_folder
from assay.eval.studies.stores.engines import page as engines
from assay.eval.studies.stores.engines.engine_bench import Bench, open_bench
from assay.eval.studies.stores.parity import page as parity
from assay.eval.studies.stores.parity.record import log_parity
from assay.eval.studies.stores.parity.results import Absence, Parity
from assay.eval.studies.stores.parity.sweep import examine
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.engines.capabilities import LackError
from assay.retrievers.settings import Resources


class ParityRequest(NamedTuple):
    """What is to be looked at; `engines` is the one engine, or with `every` all of them.

    With `some` they are those that were named, and what was found of others stays. With `missing`
    no engine is looked at of which the page in `folder` tells the same queries and vectors.
    """

    engines: list[ConfiguredEngine]
    collections: list[str]
    every: bool
    some: bool
    missing: bool
    folder: Path


@dataclass(frozen=True)
class ParityOutcome:
    """What was found and where it was put: pages and MLflow runs by the id of a parity.

    `files` are the page of all engines and its facts.
    """

    parities: tuple[Parity, ...]
    absent: tuple[Absence, ...]
    pages: dict[str, Path]
    tracked: dict[str, str]
    files: tuple[Path, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the one parity, or with the page of all engines a list of them."""
        found = [
            {
                **item.as_json(),
                "report": str(self.pages[item.id]),
                "mlflow_run": self.tracked.get(item.id),
            }
            for item in self.parities
        ]
        if not self.files:
            return found[0]
        absent = [
            {"engine": item.engine, "collection": item.collection, "reason": item.reason}
            for item in self.absent
        ]
        return {"engines": found, "absent": absent, "files": [str(file) for file in self.files]}


def read_request(
    words: Sequence[str],
    every: bool,
    only: Sequence[str] = (),
    missing: bool = False,
    output: Path | None = None,
) -> ParityRequest:
    """Return what the arguments ask for; with `every`, `only` are the types of the engines.

    Raises AssayError before any work starts.
    """
    if missing and not every:
        raise AssayError("--missing: goes with --all")
    if output and not every:
        raise AssayError("--output: goes with --all or --fusions")
    overrides = [word for word in words if "=" in word]
    names = [word for word in words if "=" not in word]
    if every and overrides:
        raise AssayError(f"{overrides[0]}: settings go with one ENGINE, not with --all")
    if not every and not names:
        raise AssayError("name an ENGINE, or give --all; `assay components` lists the engines")
    if only and not every:
        raise AssayError("--engine: goes with --all; without it ENGINE is the first argument")
    wanted = {read_engine(type_).type for type_ in only}
    engines = (
        [item for item in list_fusions() if not only or item.type in wanted]
        if every
        else [read_engine(names.pop(0), overrides)]
    )
    collections = names or [default_dataset()]
    for name in collections:
        find(name)
    if len(collections) > 1 and not every:
        raise AssayError(f"{collections[1]}: one COLLECTION at a time, or --all")
    folder = output or reports_folder() / "engines"
    return ParityRequest(engines, collections, every, bool(only), missing, folder)


def examine_all(
    request: ParityRequest, limit: int | None, resources: Resources
) -> Iterator[Parity | Absence]:
    """Yield what is found of each engine on each collection, which is opened once.

    Where every engine is looked at, what goes wrong in one becomes an absence; else an AssayError.
    """
    lacking: set[str] = set()
    rows = engines.read_rows(request.folder) if request.missing else []
    for name in request.collections:
        bench = open_bench(name, limit, resources)
        told = {row["label"] for row in rows if _is_of(row, bench)}
        for configured in request.engines:
            if configured.type in lacking:
                continue
            if configured.label in told:
                resources.progress.say(f"{configured.label} on {name}: was measured before")
                continue
            if not request.every:
                yield _examine(bench, configured, resources)
                continue
            found = _attempt(bench, configured, resources)
            if isinstance(found, Absence) and is_missing(configured, found.reason):
                lacking.add(configured.type)
            yield found


def deliver(
    found: Iterable[Parity | Absence], request: ParityRequest, track: bool, progress: Progress
) -> ParityOutcome:
    """Write a report of each parity as it comes, and tell MLflow of all.

    With `every` engine the page of all is written after each, where the others' rows stay until all
    have been looked at: a call that is broken off loses no engine.
    """
    parities: list[Parity] = []
    absent: list[Absence] = []
    pages: dict[str, Path] = {}
    facts = engines.EngineFacts(list_features(), list_met())
    for item in found:
        if isinstance(item, Absence):
            absent.append(item)
            continue
        parities.append(item)
        pages[item.id] = parity.write(item, reports_folder())
        if request.every:
            keep: engines.Keep = "all" if request.some else "fitting"
            engines.write(parities, absent, facts, request.folder, keep)
    files: list[Path] = []
    if request.every:
        keep = "all" if request.some else "fitting" if request.missing else "none"
        files = engines.write(parities, absent, facts, request.folder, keep)

    def log() -> dict[str, str]:
        return {item.id: log_parity(item, pages[item.id].parent) for item in parities}

    tracked = tracking.attempt(log, "the reports are kept", progress) if track else None
    return ParityOutcome(tuple(parities), tuple(absent), pages, tracked or {}, tuple(files))


def _is_of(row: Mapping[str, Any], bench: Bench) -> bool:
    """Whether a row of the page is of the queries and the vectors of `bench`."""
    asked = (
        bench.collection.name,
        len(bench.queries),
        bench.sampled,
        bench.encoder,
        bench.identity,
    )
    return tuple(map(row.get, ("collection", *engines.SHARED))) == asked


def _examine(bench: Bench, configured: ConfiguredEngine, resources: Resources) -> Parity:
    with closing(configured.build(resources)) as engine:
        return examine(bench, configured, engine, resources.progress)


def _attempt(bench: Bench, configured: ConfiguredEngine, resources: Resources) -> Parity | Absence:
    """As `_examine`; what goes wrong becomes a line, and the other engines go on."""
    try:
        return _examine(bench, configured, resources)
    except AssayError as error:
        reason = " ".join(str(error).split())
        failed = not (isinstance(error, LackError) or is_missing(configured, reason))
        resources.progress.say(f"{'failed' if failed else 'left out'}: {reason}")
        return Absence(configured.label, bench.collection.name, reason, failed)
