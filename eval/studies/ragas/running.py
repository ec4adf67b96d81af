"""Scoring stored runs with ragas: what is asked for, who judges, what it costs."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.eval import tracking
from assay.eval.llm import session as sessions
from assay.eval.llm.client import Asker, Estimator
from assay.eval.llm.question import Ask
from assay.eval.llm.session import LlmSession
from assay.eval.runs.stored import StoredRun
from assay.eval.studies.ragas import judging, plain, results
from assay.eval.studies.ragas.beside import Beside
from assay.eval.studies.ragas.metrics import Metric
from assay.eval.studies.ragas.samples import Sample
from assay.eval.tracking.additions import add_to_run
from assay.eval.tracking.record import metric_name, with_interval
from assay.retrievers.base import AssayError, Progress, Quiet
from assay.retrievers.services.ledger import CostLedger


def log_ragas(run: StoredRun, found: Sequence[Beside], file: Path, group: str) -> str | None:
    """Add metrics, named `group`/…, and `file` to the MLflow run of `run`; return its id.

    None where there is none.

    Raises TrackingError.
    """
    return add_to_run(run, metrics(found, group), file)


def metrics(found: Sequence[Beside], group: str) -> dict[str, float]:
    """Return the scores by their names in MLflow, with the number of queries that have one."""
    values: dict[str, float] = {}
    for item in found:
        if item.mean is not None:
            name = f"{group}/{metric_name(item.metric.name)}"
            values |= {**with_interval(name, item.mean), f"{name}.queries": item.mean.n}
    return values


MAX_TOKENS = 1024  # a judge repeats each statement and gives its reasons


@dataclass(frozen=True, slots=True)
class RagasTask:
    """What is asked for: metrics over the first `k` hits of samples of runs.

    Without `k` they are of answers and their contexts.
    """

    metrics: list[Metric]
    k: int | None
    samples: list[tuple[StoredRun, list[Sample]]]

    @property
    def queries(self) -> int:
        """The number of queries, those of each run counted."""
        return sum(len(samples) for _, samples in self.samples)


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What a task should ask and cost, as an estimator counted it."""

    task: RagasTask
    counted: Estimator

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {
            "runs": [run.manifest.id for run, _ in self.task.samples],
            "metrics": [metric.name for metric in self.task.metrics if metric.judged],
            "queries": self.task.queries,
        } | self.counted.as_json()


@dataclass(frozen=True, slots=True)
class RagasScores:
    """The results by run, the ids of the MLflow runs that have them, and the ledger if any."""

    results: Sequence[results.RagasResult]
    tracked: Sequence[str | None]
    ledger: CostLedger | None

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        runs = [
            {**result.as_json(), "file": str(result.path), "mlflow_run": run_id}
            for result, run_id in zip(self.results, self.tracked, strict=True)
        ]
        asked = self.ledger and {
            "run": self.ledger.run.as_json(),
            "earlier": self.ledger.earlier.as_json(),
            "budget_usd": self.ledger.budget,
        }
        return {"runs": runs, "asked": asked}


def make_session(
    options: dict[str, Any], progress: Progress, *, dry_run: bool
) -> LlmSession | None:
    """Return the model that `options` name, None for none. Raises AssayError."""
    given = {name: value for name, value in options.items() if value is not None}
    if options["provider"] is None:
        if wrong := [*given, *(["dry_run"] if dry_run else [])]:
            raise AssayError(f"--{wrong[0].replace('_', '-')}: only with --provider")
        return None
    return sessions.make_session(options, MAX_TOKENS, progress)


def estimate(task: RagasTask, session: LlmSession) -> CostEstimate:
    """Return what the task would ask and what that should cost."""
    estimator = Estimator(session.model, session.prices, session.library)
    judged = [metric for metric in task.metrics if metric.judged]
    for _, samples in task.samples:
        judging.score(judged, samples, estimator, 1, Quiet())
    return CostEstimate(task, estimator)


def score(
    task: RagasTask, session: LlmSession | None, progress: Progress, *, track: bool
) -> RagasScores:
    """Score all runs, write what was found, and with `track` add it to their MLflow runs."""
    by_text = [metric for metric in task.metrics if not metric.judged]
    judged = [metric for metric in task.metrics if metric.judged]
    found = []
    with ExitStack() as stack:
        ask: Ask | None = None
        ledger = None
        at_once = 1
        if session and judged:
            ask = expected = estimate(task, session).counted
            if expected.to_ask:
                ledger = stack.enter_context(
                    session.ledger("ragas", (run for run, _ in task.samples))
                )
                model = stack.enter_context(session.model)
                ask = stack.enter_context(Asker(model, ledger, session.settings, session.library))
                at_once = session.settings.concurrency
        for run, samples in task.samples:
            scores = plain.score(by_text, samples, progress)
            if session and ask:
                try:
                    scores += judging.score(judged, samples, ask, at_once, progress)
                except AssayError as error:
                    raise AssayError(
                        f"{error}; what was answered is kept: the same command goes on from there"
                    ) from None
            name = session.model.name if session and judged else ""
            found.append(results.make_result(run, task.k, len(samples), name, scores))
        for result in found:
            if lost := results.find_lost(result):
                progress.say(
                    f"replaced: {result.path} had {lost}; the same call gives that again from what "
                    "is kept"
                )
            results.write(result)
    return RagasScores(found, [_track(item, progress) if track else None for item in found], ledger)


def _track(result: results.RagasResult, progress: Progress) -> str | None:
    """Add the scores to the run's MLflow run; return its id, None where there is none."""
    return tracking.attempt(
        lambda: log_ragas(result.run, result.found, result.path, result.path.stem),
        f"the scores are kept in {result.path}",
        progress,
    )
