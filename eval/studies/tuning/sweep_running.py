"""Read sweep files, list their points, and run the points on shared parts."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from assay.eval.collections.catalog import find
from assay.eval.collections.formats.irds import PREFIX
from assay.eval.configs.config import load_config
from assay.eval.configs.engine_choice import StayingKeysError
from assay.eval.configs.engine_settings import is_usable, list_engines
from assay.eval.configs.named_configs import find_base
from assay.eval.running.runner import Helpers, PointTask, Runner
from assay.eval.running.search_space import Point, as_overrides
from assay.eval.running.study_options import name_dataset
from assay.eval.runs import environment
from assay.eval.scoring.measures import check_rising
from assay.eval.studies.tuning.sweep import Sweep
from assay.eval.studies.tuning.sweep_settings import (
    CONFIG,
    ENGINE,
    EVERY,
    SweepSettings,
    without_engine,
)
from assay.eval.tracking.record import Record
from assay.retrievers.base import AssayError
from assay.retrievers.settings import Resources, validate
from assay.retrievers.settings.files import read_mapping
from assay.retrievers.store.digest import digest
from assay.retrievers.store.paths import parse_path


def read_sweep(
    path: Path, engines: Sequence[str] = (), overrides: Sequence[str] = ()
) -> SweepSettings:
    """Read the sweep at `path`.

    `engines` replace its axis of engines, and the `dataset` of `overrides` its collections. Raises
    AssayError naming the file, the key and the problem, also for an override of an axis.
    """
    settings = validate(SweepSettings, read_mapping(path), str(path))
    overridden = {override.partition("=")[0] for override in overrides}
    for key in (key for axes in settings.grids for key in axes if key in overridden):
        raise AssayError(
            f"{path}: axes.{key}: is an axis of this sweep; change its values in the file"
        )
    if "dataset" in overridden:
        settings = settings.model_copy(update={"collections": []})
    if engines:
        grids = [{ENGINE: list(engines)} | without_engine(axes) for axes in settings.grids]
        settings = settings.model_copy(update={"axes": grids})
    key = "collections"
    try:
        collections = [_place(path.parent, name) for name in settings.collections]
        for name in collections:
            find(name)
            if collections.count(name) > 1:
                raise AssayError(f"{name} is given twice")
        key = "measure"
        measure = check_rising(settings.measure)
    except AssayError as error:
        raise AssayError(f"{path}: {key}: {error}") from None
    named = {"name": settings.name or path.stem, "measure": measure, "collections": collections}
    return settings.model_copy(update=named)


def list_tasks(path: Path, settings: SweepSettings, overrides: Sequence[str]) -> list[PointTask]:
    """Return every point on every collection, in the order of the file.

    `overrides` are applied to every config first. Raises AssayError for the first point that is no
    valid config.
    """
    collections: Sequence[str | None] = settings.collections or [None]
    try:
        return [
            task
            for collection in collections
            for name in settings.paths
            for task in _list_on(find_base(name, path, ()), collection, settings, overrides)
        ]
    except AssayError as error:
        raise AssayError(f"{path}: {str(error).partition(chr(10))[0]}") from None


def name_sweep(settings: SweepSettings, tasks: Sequence[PointTask]) -> str:
    """Return the id of a sweep; equal points give the same id."""
    return f"sweep-{settings.name}-{digest([task.config for task in tasks])[:8]}"


def _place(folder: Path, collection: str) -> str:
    """Resolve the reference of a collection in a sweep file; a path is relative to `folder`."""
    if "/" not in collection or collection.startswith(PREFIX):
        return collection
    return os.path.normpath(parse_path(collection, "folder", folder))


def _list_on(
    config: Path, collection: str | None, settings: SweepSettings, overrides: Sequence[str]
) -> Iterator[PointTask]:
    """Yield the tasks of one config on one collection, or on the collection of the config."""
    given = [*overrides, *([name_dataset(collection)] if collection else [])]
    base = load_config(config, given)
    named = {CONFIG: base.name} if len(settings.paths) > 1 else {}
    listed: list[Point] = []
    values = cache(lambda engine: load_config(config, given, engine).model_dump(mode="json"))
    for point in settings.points:
        if "dataset" in point:
            raise AssayError("axes.dataset: not allowed; name collections instead")
        changed = without_engine(point)
        for engine in list_engines_of(config, given, point.get(ENGINE)):
            searched = {ENGINE: engine} if ENGINE in point else {}
            full = {**named, **searched, **changed}
            if full in listed:  # an engine may be named in addition to EVERY
                continue
            listed.append(full)
            varied = as_overrides(changed, values(engine))
            yield PointTask(full, load_config(config, [*given, *varied], engine))


def run_sweep(
    settings: SweepSettings,
    tasks: Sequence[PointTask],
    resources: Resources,
    reports: Path,
    *,
    keep_runs: bool = False,
    helpers: Helpers | None = None,
) -> tuple[Sweep, list[Record]]:
    """Run every task; return the sweep, and the records for MLflow.

    Equal points give the same id. The best point of each collection, or with `keep_runs` every
    point, is stored as a run with its own report; for the others only the figures are kept, which
    equal those of `assay run`.
    """
    name = name_sweep(settings, tasks)
    runner = Runner(settings.measure, resources, reports, stored=keep_runs, helpers=helpers)
    done = runner.time(tasks, runner.run(tasks), reports / name)
    found = Sweep(
        id=name,
        name=settings.name,
        description=settings.description,
        headline=settings.measure,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        environment=environment.describe(),
        results=tuple(item.result for item in done),
    )
    best = [found.best(name) for name in found.collections]
    chosen = [i for i, item in enumerate(done) if keep_runs or item.result in best]
    done = runner.store(tasks, done, chosen)
    found = replace(found, results=tuple(item.result for item in done))
    return found, [item.record for item in done if item.record]


def list_engines_of(config: Path, given: Sequence[str], named: Any) -> list[str | None]:
    """Return the engines for a value of the axis `engine`; None means the config as it is.

    EVERY means the engines that can be used here and to which the config, with the overrides
    `given`, can move. Raises AssayError if there is none, or if an engine is excluded only by a key
    that is not allowed in it.
    """
    if named is not None and not isinstance(named, str):
        raise AssayError(f"axes.engine: {named!r} is no engine; allowed: names, null and {EVERY!r}")
    if named != EVERY:
        return [named]
    found: list[str | None] = []
    for engine in filter(is_usable, list_engines()):
        try:
            load_config(config, given, engine.type)
        except StayingKeysError:
            raise
        except AssayError:
            continue
        found.append(engine.type)
    if not found:
        raise AssayError(
            f"axes.engine: {EVERY!r}: {config} can move to no engine that can be used here; "
            "allowed: null, which is the config as it is, and names of engines that take it"
        )
    return found
