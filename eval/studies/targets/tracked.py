"""Targets as MLflow has them: the measured values as metrics, the verdicts as parameters."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.eval.studies.targets.results import Results
from assay.eval.tracking.delivery import log_result
from assay.eval.tracking.record import metric_name, with_interval
from assay.eval.tracking.store import redact


def log_targets(results: Results, files: Sequence[Path]) -> str:
    """Send targets with the files written of them; return the id of their MLflow run.

    Raises TrackingError.
    """
    command = redact(shlex.join(map(str, results.environment.get("command", ()))))
    tags = {"assay.command": command, "assay.targets": str(len(results.targets))}
    figures, verdicts = dict(metrics(results)), dict(params(results))
    return log_result(command, tags, figures, verdicts, files, results.created)


def metrics(results: Results) -> Iterator[tuple[str, float]]:
    """Yield each value by its name in MLflow, with its interval, and the number of each verdict."""
    for target in results.targets:
        for line in target.lines:
            if line.found:
                label = f" {line.label}" if line.label else ""
                name = metric_name(f"target/{target.id}{label}")
                yield from with_interval(name, line.found.estimate).items()
    for verdict, ids in results.count().items():
        yield metric_name(f"targets/{verdict}"), len(ids)


def params(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the verdict on each target."""
    for target in results.targets:
        yield metric_name(f"verdict.{target.id}"), target.verdict
