"""A study that runs every combination of settings on every collection."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from pydantic import Field

from assay.eval.cluster.distribution import distribute
from assay.eval.collections.loading import load
from assay.eval.configs.config import RunConfig
from assay.eval.report.blocks import Cell, Column, Prose, Report, Scatter, Table
from assay.eval.report.formats import count
from assay.eval.running.figures import COST, Figures, PointResult
from assay.eval.running.runner import PointTask
from assay.eval.running.search_space import describe, label
from assay.eval.running.study import Argument, Lab, Option, Preview, Study
from assay.eval.running.study_options import Overrides, WorkerOptions
from assay.eval.runs.config_keys import shorten
from assay.eval.runs.execution.interleaved_timing import MOST_TOGETHER
from assay.eval.studies.comparison.analysis import BESIDE, DEFAULT
from assay.eval.studies.tuning.forecast import describe_work
from assay.eval.studies.tuning.sweep import Sweep
from assay.eval.studies.tuning.sweep_running import list_tasks, read_sweep, run_sweep
from assay.eval.studies.tuning.sweep_settings import SweepSettings
from assay.eval.tracking.parent_run import log_records
from assay.retrievers.base import AssayError


class SweepOptions(WorkerOptions):
    """A sweep, the changes to all its configs, and the reports to keep."""

    file: Annotated[Path, Argument("FILE")]
    overrides: Overrides = ()
    engines: Annotated[tuple[str, ...], Option(("--engine",), metavar="NAME")] = Field(
        (), description="Search in this engine; repeatable."
    )
    dry_run: bool = Field(
        False,
        description="List the points, and what is to be embedded; run nothing.",
    )
    keep_runs: bool = Field(
        False,
        description="Store the run of every point, with its report, not that of the best alone.",
    )


def preview(asked: SweepOptions, lab: Lab) -> Preview | None:
    """List the points with a forecast of their cost."""
    if not asked.dry_run:
        return None
    settings, tasks = _read(asked)
    points = [{"settings": dict(t.point), "collection": t.config.dataset} for t in tasks]
    configs: dict[str, list[RunConfig]] = {}
    for task in tasks:
        configs.setdefault(task.config.dataset, []).append(task.config)
    told = [_describe(name, there, lab) for name, there in configs.items()]
    return Preview(
        {"name": settings.name, "points": points, "forecast": told},
        [*(f"{i:>4}  {task.label}" for i, task in enumerate(tasks, 1)), *told],
    )


def find(asked: SweepOptions, lab: Lab) -> Sweep:
    """Run every combination of the axes of FILE on its collections.

    FILE names a config as its base, or several configs; axes, which are values by dotted key; and
    collections, without which each config runs on its own. Paths are from the folder of FILE.
    Points share chunks, vectors, term counts, indexes and the lists of legs. The figures of each
    are those of `assay run`, and are kept: what was computed before is not computed again, and
    after a kill the same call resumes. The best point of each collection is stored as a run with
    its report. Overrides change single keys of every config; dataset=NAME takes the place of the
    file's collections. An axis `engine` has names of engines, null for the config as it is, or "*"
    for every one that can be used here and to which the config can move; --engine gives or replaces
    it.

    A point that fails is reported, and the others go on. Exit code: 0 all points ran, 1 some
    failed, 2 the file cannot be run.
    """
    settings, tasks = _read(asked)
    with distribute(asked.ray, lab.progress, asked.ray_gpus) as pool:
        resources = pool.resources if pool else lab.resources
        found, records = run_sweep(
            settings, tasks, resources, lab.reports, keep_runs=asked.keep_runs, helpers=pool
        )
    lab.records.extend(records)
    return found


def _describe(collection: str, configs: Sequence[RunConfig], lab: Lab) -> str:
    """Return the forecast for a collection, or the reason why it cannot be read."""
    try:
        return f"{collection}: {describe_work(configs, load(collection), lab.resources)}"
    except AssayError as error:
        return str(error)


def _read(asked: SweepOptions) -> tuple[SweepSettings, Sequence[PointTask]]:
    """Return the settings of the file, and its points."""
    settings = read_sweep(asked.file, asked.engines, asked.overrides)
    return settings, list_tasks(asked.file, settings, asked.overrides)


OPTIMISM = (
    "The best of many points, chosen and judged on the same queries, looks better than it is: "
    "`assay tune` measures what such a choice gains on queries that had no part in it."
)
METHOD = (
    "The best point of each collection is a stored run with a report of its own; `assay run` with "
    "the settings of another makes that of it, with the same figures. Intervals at 95 %: "
    "Student's over queries for means, exact for latencies, with no upper end where the times are "
    "too few for one (whiskers then go to the edge). Latencies are of one job a collection, in "
    "which each query went to all points in turn, with caches off."
)
FRONT = (
    "On the front, by the points' estimates: no other point is {regards} and as good. Numbers are "
    "those of the rows, whiskers 95 % intervals: points whose whiskers overlap may well change "
    "places."
)
Point = tuple[PointResult, Figures]


def report(sweep: Sweep) -> Report:
    """Return the report of a sweep."""
    several = len(sweep.done) > 1
    return Report(
        id=sweep.id,
        kind="sweep",
        title=sweep.name,
        description=sweep.description,
        subject=_list_facts(sweep),
        verdict=[*_name_best(sweep), *([OPTIMISM] if several else [])],
        warnings=[
            *(f"Failed: {_name(sweep, i)} on {i.collection}: {i.failure}" for i in sweep.failed),
            *(
                f"{figures.run or _name(sweep, item)} is degraded: {line}"
                for item, figures in sweep.done
                for line in figures.degraded
            ),
        ],
        blocks=[
            *(_show_points(sweep, name) for name in sweep.collections if sweep.on(name)),
            Prose("Runs and intervals", METHOD),
        ],
        environment=sweep.environment,
    )


def _name_best(sweep: Sweep) -> Iterator[str]:
    """Yield the best point on each collection."""
    for name in sweep.collections:
        if ranked := sweep.rank(name):
            item, figures = ranked[0]
            mean = figures.means[sweep.headline]
            told = label(item.settings) or "the config"
            yield f"best on {name}: {told}, {sweep.headline} {mean.value:.3f} of {mean.n:,} queries"


def _list_facts(sweep: Sweep) -> list[str]:
    facts = [count(len(sweep.results), "point"), count(len(sweep.collections), "collection")]
    if any(len(sweep.on(name)) > MOST_TOGETHER for name in sweep.collections):
        facts.append(f"timed interleaved in groups of at most {MOST_TOGETHER}")
    if sweep.failed:
        facts.append(f"{len(sweep.failed)} failed")
    return [*facts, sweep.created]


def _show_points(sweep: Sweep, collection: str) -> Table:
    ranked = sweep.rank(collection)
    names, headline = shorten(sweep.keys), sweep.headline
    beside = [name for name in dict.fromkeys((*DEFAULT, *BESIDE)) if name in sweep.measures]
    timed = any(figures.latency for _, figures in ranked)
    priced = sweep.charged(collection)
    columns = [
        Column("point", "Point", value=lambda point: label(point[0].settings) or "the config"),
        Column(headline, headline, "score", partial(_find_mean, headline)),
        Column("p95_ms", "p95 ms", "ms", lambda point: _find_latency(point[1])),
        *([Column("usd", "USD per 1,000 queries", "usd", _find_usd)] if priced else []),
        Column("front", "", value=lambda point: "front" if point[0] in sweep.front else ""),
        *(
            Column(name, name, "score", partial(_find_mean, name), brief=False)
            for name in beside
            if name != headline
        ),
        *(
            Column(f"setting_{key}", names[key], value=partial(_find_setting, key), brief=False)
            for key in sweep.keys
        ),
        Column("run", "Run", value=lambda point: point[1].run and "report", brief=False,
               link=lambda point: f"../{quote(point[1].run)}/report.html" if point[1].run else ""),
    ]  # fmt: skip
    placed = {
        "p95_ms": (f"{headline} against latency; up and to the left is better", timed, True),
        "usd": (f"{headline} against what queries cost", priced, False),
    }
    scatters = [
        Scatter(title, key, headline, log, lambda point: point[0] in sweep.front)
        for key, (title, there, log) in placed.items()
        if there
    ]
    regards = ", ".join([*(["as fast"] if timed else []), *(["as cheap"] if priced else [])])
    note = FRONT.format(regards=regards) if scatters else "Nothing was timed."
    title = f"Points on {collection}, best {headline} first"
    return Table(f"points_{collection}", title, columns, ranked, note, scatters=scatters)


def _find_mean(measure: str, point: Point) -> Cell:
    return point[1].means[measure]


def _find_latency(figures: Figures) -> Cell:
    return figures.latency[COST] if figures.latency else None


def _find_usd(point: Point) -> Cell:
    return point[1].usd


def _find_setting(key: str, point: Point) -> Cell:
    settings = point[0].settings
    return describe(settings[key]) if key in settings else ""


def _name(sweep: Sweep, item: PointResult) -> str:
    names = shorten(sweep.keys)
    pairs = [f"{names[key]} {describe(value)}" for key, value in item.settings.items()]
    return ", ".join(pairs) or sweep.name


STUDY = Study(
    "sweep",
    SweepOptions,
    find,
    report,
    preview=preview,
    previewed={
        "name": str,
        "points": [{"settings": {str: object}, "collection": str}],
        "forecast": [str],
    },
    log=lambda found, _, lab: log_records(lab.records, lab.reports / found.id, lab.progress),
    logged="mlflow_parent",
    status=lambda found: 1 if found.failed else 0,
)
