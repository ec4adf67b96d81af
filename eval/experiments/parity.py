"""Engines on collections: which are looked at, what is found of each, and where it is put."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from eval import tracking
from eval.collections.catalog import find
from eval.experiments.engine_bench import Bench, open_bench
from eval.experiments.engine_settings import (
    ConfiguredEngine,
    is_missing,
    list_features,
    list_fusions,
    list_met,
    read_engine,
)
from eval.experiments.locations import default_dataset, reports_folder
from eval.experiments.parity_sweep import examine
from eval.parity.results import Absence, Parity
from eval.report import engines, parity
from eval.tracking.parity import log_parity
from retrievers.base import AssayError, Progress
from retrievers.settings import Workshop


class Request(NamedTuple):
    """What is to be looked at; `engines` is the one engine, or with `every` all of them.

    With `some` they are those that were named, and what was found of others stays.
    """

    engines: list[ConfiguredEngine]
    collections: list[str]
    every: bool
    some: bool


@dataclass(frozen=True)
class Delivered:
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


def read_request(words: Sequence[str], every: bool, only: Sequence[str] = ()) -> Request:
    """Return what the arguments ask for; with `every`, `only` are the types of the engines.

    Raises AssayError before any work starts.
    """
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
    return Request(engines, collections, every, bool(only))


def examine_all(
    request: Request, limit: int | None, workshop: Workshop
) -> Iterator[Parity | Absence]:
    """Yield what is found of each engine on each collection, which is opened once.

    Where every engine is looked at, what goes wrong in one becomes an absence; else an AssayError.
    """
    missing: set[str] = set()
    for name in request.collections:
        bench = open_bench(name, limit, workshop)
        for configured in request.engines:
            if configured.type in missing:
                continue
            if not request.every:
                yield _examine(bench, configured, workshop)
                continue
            found = _attempt(bench, configured, workshop)
            if isinstance(found, Absence) and not found.failed:
                missing.add(configured.type)
            yield found


def deliver(
    found: Sequence[Parity | Absence],
    request: Request,
    output: Path | None,
    track: bool,
    progress: Progress,
) -> Delivered:
    """Write a report of each parity, with `every` engine the page of all, and tell MLflow."""
    parities = tuple(item for item in found if isinstance(item, Parity))
    absent = tuple(item for item in found if isinstance(item, Absence))
    pages = {item.id: parity.write(item, reports_folder()) for item in parities}
    files: list[Path] = []
    if request.every:
        folder = output or reports_folder() / "engines"
        facts = engines.EngineFacts(list_features(), list_met())
        files = engines.write(parities, absent, facts, folder, keep=request.some)

    def log() -> dict[str, str]:
        return {item.id: log_parity(item, pages[item.id].parent) for item in parities}

    tracked = tracking.attempt(log, "the reports are kept", progress) if track else None
    return Delivered(parities, absent, pages, tracked or {}, tuple(files))


def _examine(bench: Bench, configured: ConfiguredEngine, workshop: Workshop) -> Parity:
    with closing(configured.build(workshop)) as engine:
        return examine(bench, configured, engine, workshop.progress)


def _attempt(bench: Bench, configured: ConfiguredEngine, workshop: Workshop) -> Parity | Absence:
    """As `_examine`; what goes wrong becomes a line, and the other engines go on."""
    try:
        return _examine(bench, configured, workshop)
    except AssayError as error:
        reason = " ".join(str(error).split())
        failed = not is_missing(configured, reason)
        workshop.progress.say(f"{'failed' if failed else 'left out'}: {reason}")
        return Absence(configured.label, bench.collection.name, reason, failed)
