"""Measure systems on the sets of published figures and judge each figure."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from assay.eval.collections.collection import Collection
from assay.eval.collections.loading import load
from assay.eval.configs.named_configs import find_config
from assay.eval.report.blocks import Report
from assay.eval.running.cached_summaries import summarise_cached
from assay.eval.running.experiment import find_run, make_experiment
from assay.eval.runs import environment
from assay.eval.scoring.measures import find as find_measure
from assay.eval.studies.reproduction.analysis import Reproduction, Row, SetResult, make_row
from assay.eval.studies.reproduction.settings import (
    PublishedFigure,
    PublishedSet,
    PublishedSettings,
    System,
    check_known,
)
from assay.eval.tracking.delivery import log_result
from assay.eval.tracking.record import metric_name
from assay.retrievers.base import AssayError, Progress

NOT_CHOSEN = "not among those chosen"


def read_request(
    words: Sequence[str], systems: Sequence[str], settings: PublishedSettings
) -> Mapping[str, str]:
    """Return the chosen sets, each with the collection given for it, "" for those of the file.

    `words` are SET or SET=COLLECTION; without words, all sets are chosen. Raises AssayError.
    """
    chosen = {}
    for word in words:
        name, _, place = word.partition("=")
        chosen[name] = place
    check_known("set of published figures", settings.sets, chosen)
    check_known("system", settings.systems, systems)
    return chosen or dict.fromkeys(settings.sets, "")


def reproduce(
    settings: PublishedSettings,
    chosen: Mapping[str, str],
    systems: Sequence[str],
    rerun: bool,
    progress: Progress,
) -> Reproduction:
    """Measure systems on the `chosen` sets and compare them with published figures.

    All systems are measured if none is named. The rows of a set that is not available, or of a
    system that cannot run, give the reason. Raises AssayError if none of the chosen sets is
    available.
    """
    wanted = set(systems) or set(settings.systems)
    results = []
    for name, published in settings.sets.items():
        if name not in chosen:
            results.append(_describe_missing(name, published, NOT_CHOSEN, settings))
            continue
        try:
            collection, place = _open(name, published, chosen[name], progress)
        except AssayError as error:
            progress.say(str(error))
            results.append(_describe_missing(name, published, str(error), settings))
            continue
        rows = _measure(published, collection, place, wanted, settings, rerun, progress)
        results.append(
            SetResult(
                name=name,
                title=published.title,
                collection=place,
                digest=collection.digest,
                queries=len(collection.queries),
                missing="",
                rows=tuple(rows[id(figure)] for figure in published.figures),
            )
        )
    if not any(one.collection for one in results):
        raise AssayError("none of the sets is here, so that nothing was measured")
    return Reproduction(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        command=environment.command_line(),
        tolerance=settings.tolerance,
        sources={name: source.model_dump() for name, source in settings.sources.items()},
        systems={
            name: {"title": system.title, "command": _command(system, "SET")}
            for name, system in settings.systems.items()
        },
        sets=tuple(results),
        environment=environment.describe(),
    )


def _open(
    name: str, published: PublishedSet, given: str, progress: Progress
) -> tuple[Collection, str]:
    """Return the collection of a set, and the reference that found it.

    Raises AssayError with one line: the reason why none is available, and how to get it.
    """
    reasons = []
    for reference in [given] if given else published.collections:
        try:
            collection = load(reference, progress)
        except AssayError as error:
            reasons.append(str(error).partition("\n")[0].partition("; there are: ")[0])
            continue
        if published.drop_self_matches:
            collection = replace(collection, drop_self_matches=True)
        return collection, reference
    hint = f"give a folder of it in BEIR's layout: assay reproduce {name}=FOLDER"
    raise AssayError(f"{name}: not here: {'; '.join(reasons)}; {hint}")


def _measure(
    published: PublishedSet,
    collection: Collection,
    place: str,
    wanted: set[str],
    settings: PublishedSettings,
    rerun: bool,
    progress: Progress,
) -> Mapping[int, Row]:
    """Return a row for each figure, by its identity; each system runs once."""
    rows: dict[int, Row] = {}
    for name in dict.fromkeys(figure.system for figure in published.figures):
        figures = [figure for figure in published.figures if figure.system == name]
        means: Mapping[str, float] = {}
        why_not, run = NOT_CHOSEN, ""
        if name in wanted:
            progress.say(f"{settings.systems[name].title} on {published.title}")
            try:
                run, means = _run(settings.systems[name], figures, collection, rerun, progress)
            except AssayError as error:
                why_not = str(error).partition("\n")[0]
                progress.say(f"{name} on {place}: {why_not}")
        for figure in figures:
            measured = means.get(find_measure(figure.measure).name)
            rows[id(figure)] = make_row(
                figure,
                measured,
                settings.tolerance,
                settings.reasons,
                why_not if measured is None else "",
                run,
            )
    return rows


def _run(
    system: System,
    figures: Sequence[PublishedFigure],
    collection: Collection,
    rerun: bool,
    progress: Progress,
) -> tuple[str, Mapping[str, float]]:
    """Return the id of a system's run on a collection, and its means by measure."""
    names = [figure.measure for figure in figures]
    overrides = [*system.overrides, "latency.queries=0"]
    experiment = make_experiment(
        str(find_config(system.config)), overrides, collection, {}, progress, rerun
    )
    run = find_run(experiment, progress)
    summary = summarise_cached(run, names)
    return run.manifest.id, {name: mean.value for name, mean in summary.means.items()}


def _command(system: System, place: str) -> str:
    """Return the command that makes a system's run on a collection."""
    words = ["assay", "run", system.config, f"dataset={place}", "latency.queries=0"]
    return shlex.join([*words, *system.overrides])


def _describe_missing(
    name: str, published: PublishedSet, why: str, settings: PublishedSettings
) -> SetResult:
    rows = (
        make_row(figure, None, settings.tolerance, settings.reasons, why)
        for figure in published.figures
    )
    return SetResult(name, published.title, "", "", 0, why, tuple(rows))


def log_reproduction(found: Reproduction, told: Report, files: Sequence[Path]) -> str:
    """Send figures and their files to MLflow; return the id of the MLflow run.

    Raises TrackingError.
    """
    metrics, verdicts = {}, {}
    for one in found.sets:
        for row in one.rows:
            if row.measured is not None:
                figure = row.figure
                label = f"{one.name} {figure.system} {figure.measure} {figure.source}"
                metrics[metric_name(f"reproduced/{label}")] = row.measured
                verdicts[label] = row.verdict
    return log_result(told, files, {"verdict": verdicts}, metrics=metrics)
