"""Running configs one after the other, so that shared parts are made once."""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Protocol

from assay.eval.collections.collection import Query
from assay.eval.collections.loading import load
from assay.eval.configs.config import RunConfig
from assay.eval.running.cached_figures import FiguresCache, PointFigures
from assay.eval.running.figures import PointResult
from assay.eval.running.point_order import arrange, name_shared, take_in_order
from assay.eval.running.point_scores import PointScores
from assay.eval.running.run import make_plan, write_report
from assay.eval.running.search_space import Point, label
from assay.eval.running.timing import find_config_timing
from assay.eval.runs import environment
from assay.eval.runs.execution.execution import RunOutcome, execute
from assay.eval.runs.execution.interleaved_timing import LEAST_QUERIES, MOST_TOGETHER, ROUNDS
from assay.eval.runs.execution.searching import sample
from assay.eval.runs.latency import LatencySettings
from assay.eval.runs.stored import load as load_run
from assay.eval.runs.summary.summary import estimate_percentiles
from assay.eval.tracking.record import Record
from assay.retrievers.base import AssayError, Chunk, Retriever
from assay.retrievers.pipeline.variants import Variants
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest


@dataclass(frozen=True)
class PointTask:
    """One point on one collection, which its config names."""

    point: Point
    config: RunConfig

    @property
    def label(self) -> str:
        """The point and its collection in words."""
        return f"{label(self.point) or self.config.name} on {self.config.dataset}"


@dataclass(frozen=True)
class TaskResult:
    """The result of a task, and the record of its run for MLflow."""

    result: PointResult
    record: Record | None = None

    @property
    def run(self) -> str:
        """The id of the run, empty where there is none."""
        return self.result.figures.run if self.result.figures else ""

    @property
    def identity(self) -> str:
        """The digest of everything that its rankings depend on, "" if there are none."""
        return self.record.tags["assay.identity"] if self.record else ""

    def timed(self, milliseconds: Sequence[float]) -> "TaskResult":
        """Return this with a latency that was timed interleaved with others."""
        assert self.result.figures
        figures = replace(self.result.figures, latency=estimate_percentiles(milliseconds))
        return replace(self, result=replace(self.result, figures=figures))


class Helpers(Protocol):
    """Other processes that run tasks for a runner."""

    def run(
        self, tasks: Sequence[PointTask], measure: str, reports: Path
    ) -> Iterator[tuple[int, TaskResult]]:
        """Yield the position and the result of each task; no run is stored."""
        ...


class Runner:
    """A runner of tasks. All runs are `stored` in `reports`, or only those passed to `store`.

    Each run keeps the measures of its config, and `measure`. A run that is not stored is scored the
    same way, and is not timed alone. `helpers` run the tasks that are not stored. So many
    collections are `kept` in memory.
    """

    def __init__(
        self,
        measure: str,
        resources: Resources,
        reports: Path,
        *,
        stored: bool = True,
        helpers: Helpers | None = None,
        kept: int = 1,
    ) -> None:
        self._measure = measure
        self._resources = resources
        self._reports = reports
        self._stored = stored
        self._helpers = helpers
        self._circumstances = environment.describe()
        self._load = lru_cache(maxsize=kept)(partial(load, progress=resources.progress))
        self._scores = lru_cache(maxsize=1)(lambda _, names: PointScores(names))
        self._validated = lru_cache(maxsize=1)(_start_validated)

    def run(self, tasks: Sequence[PointTask]) -> list[TaskResult]:
        """Run every task and return their results, in the order of `tasks`.

        Tasks of one collection and one preparation of its documents run after one another. A task
        that fails is reported at once, and the others go on.
        """
        progress = self._resources.progress
        done: dict[int, TaskResult] = {}
        if self._helpers and not self._stored:
            ran = self._helpers.run(tasks, self._measure, self._reports)
        else:
            order = self._take_in_order(tasks)
            ran = ((i, self._attempt(tasks[i], variants)) for i, variants in order)
        for i, outcome in progress.track(ran, "points", len(tasks)):
            done[i] = outcome
            if outcome.result.failure:
                progress.say(f"failed: {tasks[i].label}: {outcome.result.failure}")
        return [done[i] for i in range(len(tasks))]

    def score_first(
        self, tasks: Sequence[PointTask], queries: Sequence[Query], what: str
    ) -> list[dict[str, float] | None]:
        """Return the scores of some queries by id, of tasks that share a collection.

        None stands for a task that fails on them, or whose pipeline is degraded. `what` labels the
        progress.
        """
        scores: list[dict[str, float] | None] = [None] * len(tasks)
        order = self._take_in_order(tasks)
        for i, variants in self._resources.progress.track(order, what, len(tasks)):
            config = tasks[i].config
            validated = self._validated(name_shared(config))
            keeper = FiguresCache(self._names(tasks[i]), self._resources.cache, validated=validated)
            with suppress(Exception), variants.build(config) as retriever:
                collection, plan = self._load(config.dataset), make_plan(config)
                scores[i] = keeper.score_first(plan, retriever, collection, queries, self._measure)
        return scores

    def time(
        self, tasks: Sequence[PointTask], done: Sequence[TaskResult], folder: Path
    ) -> list[TaskResult]:
        """Return the results of tasks, with those of one collection timed interleaved.

        Latencies that were timed separately cannot be compared. More than 20 tasks are timed in
        groups, each in a job of its own that holds no other's indexes open, in one round, and on
        fewer queries.
        """
        times = self.time_together(tasks, done, folder, None, MOST_TOGETHER)
        return [
            item.timed(times[item.identity]) if item.identity in times else item for item in done
        ]

    def time_together(
        self,
        tasks: Sequence[PointTask],
        done: Sequence[TaskResult],
        folder: Path,
        limits: LatencySettings | None,
        most: int | None = None,
    ) -> dict[str, list[float]]:
        """Return the milliseconds by identity, paired by query, of tasks that are to be timed.

        Tasks of one collection are timed in one job, or in jobs of at `most` that many, within
        `limits` or those of the first config. Times are kept in `folder` and not taken again. More
        than 20 tasks are timed in one round, on fewer queries.
        """
        found: dict[str, list[float]] = {}
        pairs = [
            (task, item.identity)
            for task, item in zip(tasks, done, strict=True)
            if item.identity and task.config.latency.queries
        ]
        for dataset in dict.fromkeys(task.config.dataset for task, _ in pairs):
            configs = {name: task.config for task, name in pairs if task.config.dataset == dataset}
            first = next(iter(configs.values()))
            collection = self._load(dataset)
            for group in _part(configs, most or len(configs)):
                timing = find_config_timing(
                    folder / f"timing-{digest(list(group))[:8]}.json",
                    group,
                    collection,
                    _limit(limits or first.latency, len(configs)),
                    sample(collection.queries, first.limit),
                    self._resources,
                    ROUNDS if len(configs) <= MOST_TOGETHER else 1,
                )
                found |= timing.milliseconds if timing else {}
        return found

    def store(
        self, tasks: Sequence[PointTask], done: Sequence[TaskResult], chosen: Container[int]
    ) -> list[TaskResult]:
        """Return the results of tasks; those at the `chosen` places get a run and a report."""
        found = list(done)
        places = [i for i, one in enumerate(done) if i in chosen and one.result.figures]
        order = self._take_in_order([tasks[i] for i in places])
        for place, variants in self._resources.progress.track(order, "reports", len(places)):
            i = places[place]
            found[i] = self._store(tasks[i], done[i], variants)
        return found

    def _store(self, task: PointTask, done: TaskResult, variants: Variants) -> TaskResult:
        """Return the result of a task with its stored run, which has a report."""
        assert done.result.figures
        folder = self._reports / done.run
        if not done.run:
            with variants.build(task.config) as retriever:
                folder = self._execute(task, retriever).folder
        elif (folder / "report.html").exists():
            return done
        names = self._names(task)
        summary, _ = write_report(load_run(folder), names)
        shown = FiguresCache(names, self._resources.cache).keep(summary)
        figures = replace(shown.figures, latency=done.result.figures.latency)
        return TaskResult(replace(done.result, figures=figures), _name_record(task, shown.record))

    def _execute(self, task: PointTask, retriever: Retriever) -> RunOutcome:
        collection, progress = self._load(task.config.dataset), self._resources.progress
        return execute(make_plan(task.config), retriever, collection, self._reports, progress)

    def _names(self, task: PointTask) -> list[str]:
        """Return the measures that are computed for a run."""
        return list(dict.fromkeys([*task.config.measures, self._measure]))

    def _take_in_order(self, tasks: Sequence[PointTask]) -> Iterator[tuple[int, Variants]]:
        return take_in_order([task.config for task in tasks], self._resources)

    def _attempt(self, task: PointTask, variants: Variants) -> TaskResult:
        """Run a task. An error does not stop the others: it becomes one line of the result."""
        try:
            shown = self._run(task, variants)
        except Exception as error:
            reason = " ".join(str(error).split())
            kind = "" if isinstance(error, AssayError) else f"{type(error).__name__}: "
            return TaskResult(
                PointResult(task.point, task.config.dataset, failure=f"{kind}{reason}")
            )
        record = _name_record(task, shown.record)
        return TaskResult(PointResult(task.point, task.config.dataset, shown.figures), record)

    def _run(self, task: PointTask, variants: Variants) -> PointFigures:
        """Make the run of a task, or find it."""
        names = self._names(task)
        shared = name_shared(task.config)
        score = self._scores(shared, tuple(names)).score
        keeper = FiguresCache(names, self._resources.cache, score, self._validated(shared))
        with variants.build(task.config) as retriever:
            if self._stored:
                return keeper.show(self._execute(task, retriever).folder)
            collection, plan = self._load(task.config.dataset), make_plan(task.config)
            return keeper.score(plan, retriever, collection, self._reports, self._circumstances)


def _start_validated(_: tuple[str, str]) -> dict[int, Chunk]:
    """Return an empty store of validated chunks, for tasks that share them."""
    return {}


def _name_record(task: PointTask, record: Record) -> Record:
    """Return the record of a run for MLflow, named by its point if it has one."""
    varied = label(task.point)
    return replace(record, name=f"{varied} on {record.dataset['name']}") if varied else record


def _part(configs: Mapping[str, RunConfig], most: int) -> Iterator[Mapping[str, RunConfig]]:
    """Yield the configs in groups of similar size, at most `most` each.

    A single group keeps the given order; several follow `arrange`.
    """
    if len(configs) <= most:
        yield configs
        return
    names, settings = list(configs), list(configs.values())
    order = [names[i] for places in arrange(settings) for i in places]
    size = -(-len(order) // -(-len(order) // most))
    for i in range(0, len(order), size):
        yield {name: configs[name] for name in order[i : i + size]}


def _limit(limits: LatencySettings, count: int) -> LatencySettings:
    """Return `limits` with fewer queries, but 20, where more than 20 configs are timed."""
    fewer = max(LEAST_QUERIES, limits.queries * MOST_TOGETHER // count)
    return limits.model_copy(update={"queries": min(limits.queries, fewer)})
