"""A study that runs every combination of settings on every collection."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from assay.eval.cluster.distribution import distribute
from assay.eval.collections.loading import load
from assay.eval.configs.config import RunConfig
from assay.eval.running.runner import PointTask
from assay.eval.running.study import Argument, Lab, Option, Preview, Study
from assay.eval.running.study_options import Overrides, WorkerOptions
from assay.eval.studies.tuning.forecast import describe_work
from assay.eval.studies.tuning.sweep import Sweep
from assay.eval.studies.tuning.sweep_report import report
from assay.eval.studies.tuning.sweep_running import list_tasks, read_sweep, run_sweep
from assay.eval.studies.tuning.sweep_settings import SweepSettings
from assay.eval.tracking.parent_run import log_records
from assay.retrievers.base import AssayError


class SweepOptions(WorkerOptions):
    """Which sweep, what is changed in all its configs, and what is kept."""

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


STUDY = Study(
    "sweep",
    SweepOptions,
    find,
    report,
    preview=preview,
    log=lambda found, _, lab: log_records(lab.records, lab.reports / found.id, lab.progress),
    logged="mlflow_parent",
    status=lambda found: 1 if found.failed else 0,
)
