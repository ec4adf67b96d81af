"""Running the points of a sweep, so that what they share is made once."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

from eval import report
from eval.analysis.exports import export
from eval.analysis.grid_search import (
    CONFIG,
    ENGINE,
    Figures,
    Result,
    Sweep,
    SweepSettings,
    without_engine,
)
from eval.analysis.search_space import Point, as_overrides, label
from eval.analysis.summary import Summary, estimate_percentiles, summarise
from eval.collections.catalog import find
from eval.collections.formats.irds import PREFIX
from eval.collections.loading import load
from eval.experiments.config import RunConfig, load_config
from eval.experiments.engine_axis import list_engines_of
from eval.experiments.named_configs import find_base
from eval.experiments.run import make_plan
from eval.experiments.timing import find_config_timing
from eval.runs import environment
from eval.runs.execution import execute, sample
from eval.runs.latency import LatencySettings
from eval.scoring.measures import check_rising
from eval.tracking.record import Record, describe
from retrievers.base import AssayError
from retrievers.settings import Workshop, validate
from retrievers.settings.files import read_mapping
from retrievers.store.digest import digest
from retrievers.store.paths import parse_path
from retrievers.variants import Variants


@dataclass(frozen=True)
class Task:
    """One point on one collection, which its config names."""

    point: Point
    config: RunConfig

    @property
    def label(self) -> str:
        """The point and its collection in words."""
        return f"{label(self.point) or self.config.name} on {self.config.dataset}"


@dataclass(frozen=True)
class Done:
    """What became of a task, and what MLflow is told of its run."""

    result: Result
    record: Record | None = None

    @property
    def run(self) -> str:
        """The id of the run, empty where there is none."""
        return self.result.figures.run if self.result.figures else ""

    @property
    def is_timed(self) -> bool:
        """Whether there is a run of which queries were timed."""
        return bool(self.result.figures and self.result.figures.latency)

    def timed(self, milliseconds: Sequence[float]) -> "Done":
        """Return this with the latency that was timed beside that of others."""
        assert self.result.figures
        figures = replace(self.result.figures, latency=estimate_percentiles(milliseconds))
        return replace(self, result=replace(self.result, figures=figures))


def read_sweep(path: Path, engines: Sequence[str] = ()) -> SweepSettings:
    """Read the sweep at `path`; `engines` take the place of its axis of them.

    Raises AssayError naming the file, the key and what is wrong.
    """
    settings = validate(SweepSettings, read_mapping(path), str(path))
    if engines:
        grids = [{ENGINE: list(engines)} | without_engine(axes) for axes in settings.grids]
        settings = settings.model_copy(update={"axes": grids})
    key = "collections"
    try:
        collections = [_place(path.parent, name) for name in settings.collections]
        for name in collections:
            find(name)
        key = "measure"
        measure = check_rising(settings.measure)
    except AssayError as error:
        raise AssayError(f"{path}: {key}: {error}") from None
    named = {"name": settings.name or path.stem, "measure": measure, "collections": collections}
    return settings.model_copy(update=named)


def list_tasks(path: Path, settings: SweepSettings, overrides: Sequence[str]) -> list[Task]:
    """Return every point on every collection, in the order of the file.

    `overrides` are laid on every config first. Raises AssayError for the first that is no valid
    config.
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


def name_sweep(settings: SweepSettings, tasks: Sequence[Task]) -> str:
    """Return the id of a sweep, which the same points share."""
    return f"sweep-{settings.name}-{digest([task.config for task in tasks])[:8]}"


def _place(folder: Path, collection: str) -> str:
    """Return a collection as a sweep file in `folder` names it: a path is from there."""
    if "/" not in collection or collection.startswith(PREFIX):
        return collection
    return os.path.normpath(parse_path(collection, "folder", folder))


def _list_on(
    config: Path, collection: str | None, settings: SweepSettings, overrides: Sequence[str]
) -> Iterator[Task]:
    """Yield the tasks of one config on one collection, or on the one it names."""
    given = [*overrides, *([f"dataset={json.dumps(collection)}"] if collection else [])]
    base = load_config(config, given)
    named = {CONFIG: base.name} if len(settings.paths) > 1 else {}
    listed: list[Point] = []
    for point in settings.points:
        if "dataset" in point:
            raise AssayError("axes.dataset: not allowed; name collections instead")
        changed = without_engine(point)
        for engine in list_engines_of(config, given, point.get(ENGINE)):
            searched = {ENGINE: engine} if ENGINE in point else {}
            full = {**named, **searched, **changed}
            if full in listed:  # an engine may be named beside EVERY
                continue
            listed.append(full)
            values = load_config(config, given, engine).model_dump(mode="json")
            yield Task(full, load_config(config, [*given, *as_overrides(changed, values)], engine))


class Runner:
    """Runs tasks, and stores their runs in the folder `reports`.

    Of each run the measures of its config are kept, and `measure`.
    """

    def __init__(self, measure: str, workshop: Workshop, reports: Path) -> None:
        self._measure = measure
        self._workshop = workshop
        self._reports = reports
        self._load = lru_cache(maxsize=1)(load)

    def run(self, tasks: Sequence[Task]) -> list[Done]:
        """Run every task and return what became of each, in their own order.

        Those of one collection and one preparation of its documents follow on one another. A task
        that fails is told at once, and the others go on.
        """
        progress = self._workshop.progress
        done: dict[int, Done] = {}
        for at, outcome in progress.track(self._run_in_order(tasks), "points", len(tasks)):
            done[at] = outcome
            if outcome.result.failure:
                progress.say(f"failed: {tasks[at].label}: {outcome.result.failure}")
        return [done[at] for at in range(len(tasks))]

    def time(self, tasks: Sequence[Task], done: Sequence[Done], folder: Path) -> list[Done]:
        """Return what became of tasks, with the latency of all of a collection timed by turns.

        What was timed of each alone cannot be held against the others.
        """
        times = self.time_together(tasks, done, folder, None)
        return [item.timed(times[item.run]) if item.run in times else item for item in done]

    def time_together(
        self,
        tasks: Sequence[Task],
        done: Sequence[Done],
        folder: Path,
        limits: LatencySettings | None,
    ) -> dict[str, list[float]]:
        """Return the milliseconds by run, paired by query, of tasks whose runs were timed.

        Those of one collection are timed in one job, by `limits`, or those of the first config;
        once: it is kept in `folder`.
        """
        found: dict[str, list[float]] = {}
        pairs = [(task, item.run) for task, item in zip(tasks, done, strict=True) if item.is_timed]
        for dataset in dict.fromkeys(task.config.dataset for task, _ in pairs):
            configs = {run: task.config for task, run in pairs if task.config.dataset == dataset}
            first = next(iter(configs.values()))
            collection = self._load(dataset)
            timing = find_config_timing(
                folder / f"timing-{digest(list(configs))[:8]}.json",
                configs,
                collection,
                limits or first.latency,
                sample(collection.queries, first.limit),
                self._workshop,
            )
            found |= timing.milliseconds if timing else {}
        return found

    def _run_in_order(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Done]]:
        order = sorted(range(len(tasks)), key=lambda at: _shared(tasks[at]))
        for _, members in groupby(order, key=lambda at: _shared(tasks[at])):
            with Variants(self._workshop) as variants:
                for at in members:
                    yield at, self._attempt(tasks[at], variants)

    def _attempt(self, task: Task, variants: Variants) -> Done:
        """Run a task. Whatever goes wrong in it is its own affair, and becomes one line."""
        try:
            summary = self._run(task, variants)
        except Exception as error:
            reason = " ".join(str(error).split())
            kind = "" if isinstance(error, AssayError) else f"{type(error).__name__}: "
            return Done(Result(task.point, task.config.dataset, failure=f"{kind}{reason}"))
        figures = Figures.of(summary)
        record = describe(summary)
        varied = label(task.point)
        if varied:
            record = replace(record, name=f"{varied} on {summary.run.manifest.collection.name}")
        return Done(Result(task.point, task.config.dataset, figures), record)

    def _run(self, task: Task, variants: Variants) -> Summary:
        """Make the run of a task, or find it, with the files that go with it."""
        collection = self._load(task.config.dataset)
        plan, progress = make_plan(task.config), self._workshop.progress
        with variants.build(task.config) as retriever:
            outcome = execute(plan, retriever, collection, self._reports, progress)
        names = dict.fromkeys([*task.config.measures, self._measure])
        summary = summarise(outcome.run, list(names))
        if not (outcome.run.folder / "report.html").exists():
            export(summary)
            report.write(summary)
        return summary


def run_sweep(
    settings: SweepSettings, tasks: Sequence[Task], workshop: Workshop, reports: Path
) -> tuple[Sweep, list[Record]]:
    """Run every task; return what became of them, and what MLflow is told.

    The same points make the same id.
    """
    runner, name = Runner(settings.measure, workshop, reports), name_sweep(settings, tasks)
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
    return found, [item.record for item in done if item.record]


def _shared(task: Task) -> tuple[str, str]:
    """Return what tells tasks apart that share no chunks."""
    documents: Mapping[str, Any] = task.config.documents.model_dump(mode="json")
    return task.config.dataset, json.dumps(documents, sort_keys=True)
