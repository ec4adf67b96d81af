"""A study that scores stored runs with ragas."""

import asyncio
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from assay.eval.llm.asked_runs import AskedRuns, write
from assay.eval.llm.asked_runs import log as log_runs
from assay.eval.llm.costs import Foretold, foretell
from assay.eval.llm.job import LlmJob
from assay.eval.llm.session import make_session
from assay.eval.report.blocks import Block, Column, Plot, Prose, Report, Table
from assay.eval.report.formats import count
from assay.eval.running.study import Lab, Option, Preview, Study
from assay.eval.running.study_options import LARGEST, SERVED, ModelOptions, Names, RunsOptions
from assay.eval.runs.files import encode_json
from assay.eval.runs.json_form import to_json
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.labels import label_runs
from assay.eval.studies.ragas import judging
from assay.eval.studies.ragas.beside import compare
from assay.eval.studies.ragas.library import load
from assay.eval.studies.ragas.metrics import Metric, choose
from assay.eval.studies.ragas.results import RagasResult, find_lost
from assay.eval.studies.ragas.samples import Sample, make_samples
from assay.eval.studies.ragas.scores import Outcome, Scores, gather, is_score
from assay.eval.tracking.record import metric_name, with_interval
from assay.retrievers.base import Progress
from assay.retrievers.store.files import write_atomically

MAX_TOKENS = 1024  # a judge repeats each statement and gives its reasons
Job = LlmJob[tuple[str, str, str], Outcome]  # by the ids of a run, a metric and a query


class RagasOptions(ModelOptions, RunsOptions):
    """The runs to score, the metrics, and the model that judges."""

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
    """Score runs with ragas, each metric with the nearest measure.

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
            *score(plain_metrics, samples, lab.progress),
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
        told = to_json(result)
        del told["file"]  # which moves with the run's folder
        write_atomically(result.path, encode_json(told))
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


COLUMNS = (
    Column("metric", "ragas", value=attrgetter("metric.name")),
    Column("mean", "Mean", "score"),
    Column("n", "n", "count", lambda item: len(item.scores.values)),
    Column("measure", "Nearest", value=lambda item: item.measure or "none"),
    Column("measure_mean", "Its mean", "score"),
    Column("kendall_tau", "τ", "difference", attrgetter("tau")),
    Column("differ", "Differ", "count"),
    Column("relation", "How they differ", value=attrgetter("metric.relation"), brief=False),
)
WITHOUT = (
    Column("metric", "ragas", value=itemgetter(0)),
    Column("queries", "Queries", "count", itemgetter(1)),
    Column("why", "Why", value=itemgetter(2)),
)
DISAGREEMENTS = (
    Column("metric", "ragas", value=itemgetter(0)),
    Column("query", "Query", value=lambda row: row[2].query),
    Column("text", "Text", value=lambda row: row[2].text),
    Column("score", "Score", "score", lambda row: row[2].ragas),
    Column("measure", "Nearest", value=itemgetter(1)),
    Column("measure_score", "Its score", "score", lambda row: row[2].measure),
)
NOTE = (
    "Intervals: 95 %, Student's over queries. τ: Kendall's tau-b of the two scores over queries. "
    "Differ: queries whose scores differ. docs/judging.md explains where, and why."
)


def report(found: AskedRuns[RagasResult]) -> Report:
    """Return the report of scores of ragas."""
    names = label_runs([result.run for result in found.results])
    return Report(
        id="",
        kind="ragas",
        title="Scores of ragas",
        verdict=[_tell(result) for result in found.results],
        blocks=[
            *(
                block
                for name, result in zip(names, found.results, strict=True)
                for block in _show(name, result)
            ),
            Prose("What the columns mean", NOTE, brief=True),
            *found.show(),
        ],
    )


def _tell(result: RagasResult) -> str:
    sample = "" if result.queries == len(result.run.queries) else ", a sample"
    judge = f", judged by {result.judge}" if result.judge else ""
    of = count(result.queries, "query", "queries")
    return f"{result.run.manifest.id}: first {result.k} hits of {of}{sample}{judge}"


def _show(name: str, result: RagasResult) -> Iterator[Block]:
    """Yield the means of a run, the queries without a score, and those whose scores differ."""
    yield Table(name, name, COLUMNS, result.found, plot=Plot("mean", "whisker"))
    without = [
        *(
            (item.metric.name, number, why)
            for item in result.found
            for why, number in item.scores.reasons.items()
        ),
        *(
            (item.metric.name, len(item.scores.empty), "no hit: scores 0")
            for item in result.found
            if item.scores.empty and item.mean
        ),
    ]
    if without:
        yield Table(f"{name}_without", f"{name}: queries without a score", WITHOUT, without)
    apart = [
        (item.metric.name, item.measure, gap) for item in result.found for gap in item.disagreements
    ]
    if apart:
        title = f"{name}: queries of the greatest disagreement"
        yield Table(f"{name}_disagreements", title, DISAGREEMENTS, apart, brief=False)


STUDY = Study(
    "ragas",
    RagasOptions,
    find,
    report,
    preview=preview,
    previewed={"...": Foretold, "runs": [str], "metrics": [str], "queries": int},
    write=write,
    places=(),
    log=log,
    logged="mlflow_runs",
)


def score(metrics: Sequence[Metric], samples: Sequence[Sample], progress: Progress) -> list[Scores]:
    """Return the scores of `metrics`. Raises AssayError if the extra is missing.

    A query without hits scores 0, because ragas returns NaN or raises for it.
    """
    if not metrics:
        return []
    library = load()
    found: dict[tuple[str, str], Outcome] = {}
    made = {metric.name: _make(library, metric.name) for metric in metrics}
    with asyncio.Runner() as runner:
        for sample in progress.track(samples, "ragas", len(samples)):
            for name, metric in made.items():
                if not sample.gold_ids:
                    found[name, sample.query] = "no gold item is relevant"
                elif not sample.contexts:
                    found[name, sample.query] = 0.0
                else:
                    value = runner.run(_score(metric, sample))
                    found[name, sample.query] = value if is_score(value) else "ragas gave no score"
    return gather(metrics, samples, found)


async def _score(metric: Any, sample: Sample) -> float:
    from ragas.dataset_schema import SingleTurnSample

    shown = SingleTurnSample(
        retrieved_context_ids=list(sample.ids),
        reference_context_ids=list(sample.gold_ids),
        retrieved_contexts=list(sample.contexts),
        reference_contexts=list(sample.gold_contexts),
    )
    return float(await metric.single_turn_ascore(shown))


def _make(library: Any, name: str) -> Any:
    """Return an instance of the metric `name`.

    ragas marks the names of these metrics as deprecated, but has no other names for them. Its
    public method records every score for its analytics, and for that writes an id of the user below
    the home directory even if tracking is off; so this class calls the private method instead.
    """

    class Unnoted:
        async def single_turn_ascore(self, sample: Any, callbacks: Any = None) -> float:
            return float(await self._single_turn_ascore(sample, []))  # type: ignore[attr-defined]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        metric = getattr(library.metrics, name)
        similarity = library.metrics.NonLLMStringSimilarity
    made = type(name, (Unnoted, metric), {})()
    distance = type("Similarity", (Unnoted, similarity), {})
    if hasattr(made, "_distance_measure"):
        made._distance_measure = distance()
    elif hasattr(made, "distance_measure"):
        made.distance_measure = distance()
    return made
