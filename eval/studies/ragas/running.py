"""Scoring stored runs with ragas: what is asked for, who judges, what it costs."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from assay.eval.llm import session as sessions
from assay.eval.llm.asked_runs import AskedRuns
from assay.eval.llm.job import Asking, Forecast
from assay.eval.llm.session import DryRun, LlmSession
from assay.eval.runs.stored import StoredRun
from assay.eval.studies.ragas import judging, plain, results
from assay.eval.studies.ragas.metrics import Metric
from assay.eval.studies.ragas.samples import Sample, make_answered_samples, make_samples
from assay.eval.tracking.delivery import add_to_run
from assay.eval.tracking.record import metric_name, with_interval
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.settings import Resources

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
    def judged(self) -> list[Metric]:
        """The metrics that ask a language model."""
        return [metric for metric in self.metrics if metric.judged]

    @property
    def run_ids(self) -> list[str]:
        """The ids of the runs."""
        return [run.manifest.id for run, _ in self.samples]

    @property
    def queries(self) -> int:
        """The number of queries, those of each run counted."""
        return sum(len(samples) for _, samples in self.samples)


def make_task(
    runs: Sequence[StoredRun], metrics: list[Metric], k: int | None, limit: int | None
) -> RagasTask:
    """Return what is asked for: over the first `k` hits of `limit` queries, or of all.

    Without `k` it is of stored answers. Raises AssayError where a run has none.
    """
    samples = [
        (run, make_answered_samples(run, limit) if k is None else make_samples(run, k, limit))
        for run in runs
    ]
    return RagasTask(metrics, k, samples)


def make_session(
    options: Mapping[str, Any], resources: Resources, *, dry_run: bool
) -> LlmSession | None:
    """Return the model that `options` name, None for none. Raises AssayError."""
    if options.get("provider") is not None:
        return sessions.make_session(options, "ragas", MAX_TOKENS, resources, dry_run=dry_run)
    given = [name for name, value in options.items() if value is not None]
    if wrong := [*given, *(["dry_run"] if dry_run else [])]:
        raise AssayError(f"--{wrong[0].replace('_', '-')}: only with --provider")
    return None


def estimate(task: RagasTask, session: LlmSession) -> Forecast[DryRun]:
    """Return what the task would ask and what that should cost."""
    about = {
        "runs": task.run_ids,
        "metrics": [metric.name for metric in task.judged],
        "queries": task.queries,
    }
    what = "answers" if task.k is None else f"{task.k} hits each"
    return Forecast(f"{task.queries} queries, {what}", about, _count(task, session))


def score(
    task: RagasTask, session: LlmSession | None, progress: Progress, *, track: bool
) -> AskedRuns[results.RagasResult]:
    """Score all runs, write what was found, and with `track` add it to their MLflow runs."""
    by_text = [metric for metric in task.metrics if not metric.judged]
    found = []
    ledger = None
    judge = session if task.judged else None
    with ExitStack() as stack:
        asking = None
        if judge:
            counted = _count(task, judge)
            book = judge.ledger(sorted(task.run_ids), judge.model.identity)
            asking = stack.enter_context(judge.open(book, counted))
            ledger = book if counted.to_ask else None
        for run, samples in task.samples:
            scores = plain.score(by_text, samples, progress)
            if asking:
                scores += judging.score(task.judged, samples, asking)
            name = judge.model.name if judge else ""
            found.append(results.make_result(run, task.k, len(samples), name, scores))
        for result in found:
            if lost := results.find_lost(result):
                progress.say(
                    f"replaced: {result.path} had {lost}; the same call gives that again from what "
                    "is kept"
                )
            results.write(result)
    return AskedRuns(found, [_track(item, progress) if track else None for item in found], ledger)


def _count(task: RagasTask, session: LlmSession) -> DryRun:
    counted = session.count()
    for _, samples in task.samples:
        judging.score(task.judged, samples, Asking(counted.ask))
    return counted


def _track(result: results.RagasResult, progress: Progress) -> str | None:
    """Add the means to the run's MLflow run; return its id, None where there is none."""
    metrics: dict[str, float] = {}
    for item in result.found:
        if item.mean is not None:
            name = f"{result.path.stem}/{metric_name(item.metric.name)}"
            metrics |= {**with_interval(name, item.mean), f"{name}.queries": item.mean.n}
    return add_to_run(result.run, metrics, result.path, progress)
