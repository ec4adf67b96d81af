"""A study that scores stored runs with ragas."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from assay.eval.llm.asked_runs import AskedRuns, write
from assay.eval.llm.asked_runs import log as log_runs
from assay.eval.llm.costs import foretell
from assay.eval.llm.job import LlmJob
from assay.eval.llm.session import make_session
from assay.eval.running.study import Lab, Option, Preview, Study
from assay.eval.running.study_options import LARGEST, SERVED, ModelOptions, Names, RunsOptions
from assay.eval.runs.files import encode_json
from assay.eval.runs.stored import StoredRun
from assay.eval.studies.ragas import judging, plain
from assay.eval.studies.ragas.beside import compare
from assay.eval.studies.ragas.metrics import Metric, choose
from assay.eval.studies.ragas.report import report
from assay.eval.studies.ragas.results import RagasResult, find_lost
from assay.eval.studies.ragas.samples import Sample, make_samples
from assay.eval.studies.ragas.scores import Outcome, gather
from assay.eval.tracking.record import metric_name, with_interval
from assay.retrievers.store.files import write_atomically

MAX_TOKENS = 1024  # a judge repeats each statement and gives its reasons
Job = LlmJob[tuple[str, str, str], Outcome]  # by the ids of a run, a metric and a query


class RagasOptions(ModelOptions, RunsOptions):
    """Which runs are scored, by which metrics, and who judges."""

    provider: Literal["anthropic", "openai"] | None = Field(
        None, description=f"Also the metrics that ask a language model. {SERVED}"
    )
    metrics: Annotated[Names, Option(text=True)] = Field(
        (), description="By ragas' names, separated by commas.  [default: all]"
    )
    k: int = Field(5, ge=1, le=LARGEST, description="How many hits count.")
    limit: int | None = Field(
        None, ge=1, le=LARGEST, description="Only so many queries, evenly spaced."
    )
    dry_run: bool = Field(False, description="Estimate tokens and cost; make no call.")

    @model_validator(mode="after")
    def _has_calls_to_estimate(self) -> Self:
        if self.dry_run and self.provider is None:
            raise ValueError("--dry-run: only with --provider")
        return self


@dataclass(frozen=True, slots=True)
class Work:
    """The metrics, the samples of each run, and the job of asking a model; None without a model."""

    metrics: list[Metric]
    samples: list[tuple[StoredRun, list[Sample]]]
    job: Job | None


def preview(asked: RagasOptions, lab: Lab) -> Preview | None:
    """Estimate the cost of judging."""
    if not asked.dry_run:
        return None
    work = _prepare(asked, lab)
    assert work.job
    queries = sum(len(samples) for _, samples in work.samples)
    about = {
        "runs": [run.manifest.id for run, _ in work.samples],
        "metrics": [metric.name for metric in work.metrics if metric.judged],
        "queries": queries,
    }
    return foretell(f"{queries} queries, {asked.k} hits each", work.job.count(), about)


def find(asked: RagasOptions, lab: Lab) -> AskedRuns[RagasResult]:
    """Score runs with ragas, each metric beside the nearest measure.

    Each is a config (run where no equal run is stored; overrides apply to every config), the id of
    a run, the beginning of one, or its folder. Without --provider no model is called. Replies of a
    model are kept: nothing is paid for twice. Keys come from ANTHROPIC_API_KEY and OPENAI_API_KEY
    alone. Needs the extra `ragas`.
    """
    work = _prepare(asked, lab)
    plain_metrics, judged = (
        [metric for metric in work.metrics if metric.judged == wanted] for wanted in (False, True)
    )
    judge = work.job.session.model.name if work.job else ""
    found = work.job.run() if work.job else {}
    results = []
    for run, samples in work.samples:
        outcomes = {
            (metric.name, sample.query): found[run.manifest.id, metric.name, sample.query]
            if (known := judging.settle(metric, sample)) is None
            else known
            for metric in judged
            for sample in samples
        }
        scores = [
            *plain.score(plain_metrics, samples, lab.progress),
            *gather(judged, samples, outcomes),
        ]
        beside = compare(run, scores, asked.k)
        results.append(RagasResult(run, asked.k, len(samples), judge, beside))
    for result in results:
        if lost := find_lost(result):
            lab.progress.say(
                f"replaced: {result.path} had {lost}; the same call gives that again from what is "
                "kept"
            )
        write_atomically(result.path, encode_json(result.as_json()))
    return AskedRuns(results, work.job.ledger if work.job else None)


def _prepare(asked: RagasOptions, lab: Lab) -> Work:
    """Return the requested work."""
    metrics = choose(asked.metrics, judge=asked.provider is not None)
    session = asked.provider and make_session(
        asked, "ragas", MAX_TOKENS, lab.resources, dry_run=asked.dry_run
    )
    samples = [
        (run, make_samples(run, asked.k, asked.limit)) for run in lab.run_all(asked.references)
    ]
    if not session:
        return Work(metrics, samples, None)
    tasks = {
        (run.manifest.id, metric.name, sample.query): partial(judging.find_score, metric, sample)
        for run, of_run in samples
        for metric in metrics
        for sample in of_run
        if metric.judged and judging.settle(metric, sample) is None
    }
    ids = sorted(run.manifest.id for run, _ in samples)
    job = LlmJob(session, tasks, "judging", [ids, session.model.identity])
    return Work(metrics, samples, job)


def _list_metrics(result: RagasResult) -> dict[str, float]:
    """Return the means to add to a run's MLflow run."""
    metrics: dict[str, float] = {}
    for item in result.found:
        if item.mean is not None:
            name = f"{result.path.stem}/{metric_name(item.metric.name)}"
            metrics |= {**with_interval(name, item.mean), f"{name}.queries": item.mean.n}
    return metrics


def log(found: AskedRuns[RagasResult], _files: Sequence[Path], lab: Lab) -> list[str]:
    """Add the means to the MLflow runs of the scored runs; return the ids of the MLflow runs."""
    return log_runs(found, _list_metrics, lab)


STUDY = Study(
    "ragas", RagasOptions, find, report, preview=preview, write=write, log=log, logged="mlflow_runs"
)
