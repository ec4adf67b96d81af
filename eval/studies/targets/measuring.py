"""Measuring targets, each for itself."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.eval.collections.collection import Collection
from assay.eval.runs import environment
from assay.eval.runs.latency import LatencySample
from assay.eval.runs.stored import StoredRun
from assay.eval.statistics.estimates import (
    Estimate,
    OpenEstimate,
    estimate_mean_ratio,
    estimate_percentile,
    estimate_percentile_ratio,
)
from assay.eval.studies.ingestion.summary import ON_TARGET, Ingestion, count_on_target
from assay.eval.studies.targets import figures
from assay.eval.studies.targets.measurements import (
    Change,
    Documents,
    Duplicates,
    Ingest,
    Latency,
    LatencyRatio,
    Measurement,
    Score,
    Similarity,
    SlowestStage,
    Stale,
    TraceFlow,
    TraceMeasurement,
)
from assay.eval.studies.targets.results import Line, MeasuredValue, Results, TargetResult, Unit
from assay.eval.studies.targets.settings import Target
from assay.eval.studies.targets.staleness import count_stale
from assay.eval.studies.targets.verdict import judge
from assay.eval.studies.targets.wording import describe_limits
from assay.retrievers.base import AssayError, Progress, Retriever

STALE_DEPTH = 10  # results of a search that are looked at
UNITS: Mapping[type[Any], Unit] = {
    Score: "score",
    Change: "change",
    Latency: "ms",
    SlowestStage: "ms",
    LatencyRatio: "ratio",
    Ingest: "s",
    Stale: "count",
    Documents: "share",
    Similarity: "difference",
    Duplicates: "count",
    TraceFlow: "count",
    TraceMeasurement: "share",
}


class TargetMeasurer(Protocol):
    """What makes runs, experiments and ingestions of pipelines given by name.

    Everything raises AssayError when a collection, a model or a server is not here.
    """

    @property
    def seconds(self) -> Mapping[str, float]:
        """What each run and experiment took that was made, by what it is."""
        ...

    def run(self, pipeline: str, dataset: str) -> StoredRun:
        """Return the stored run of a pipeline, made where there is none."""
        ...

    def collection(self, dataset: str) -> Collection:
        """Return a collection."""
        ...

    def build(self, pipeline: str, dataset: str) -> AbstractContextManager[Retriever]:
        """Return a pipeline, not yet indexed."""
        ...

    def time_grown(self, pipeline: str, dataset: str, chunks: int) -> Sequence[LatencySample]:
        """Time a pipeline on a collection grown to so many chunks."""
        ...

    def interleave(
        self, base: str, pipeline: str, dataset: str
    ) -> tuple[Sequence[float], Sequence[float]]:
        """Return the milliseconds of two pipelines, paired by query, timed interleaved."""
        ...

    def ingest(self, pipeline: str, dataset: str, rerun: bool) -> Ingestion:
        """Ingest a collection; `rerun` finds nothing in the cache but models."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return the vectors of texts by the default encoder, of length 1, a row each."""
        ...

    def remember(
        self, measurement: Measurement, make: Callable[[], MeasuredValue]
    ) -> MeasuredValue:
        """Return what an experiment gave before, where nothing it depends on has changed."""
        ...


def measure_targets(
    targets: Mapping[str, Target], measurer: TargetMeasurer, progress: Progress
) -> Results:
    """Measure `targets`. What one of them lacks does not keep the others from being measured."""
    measured = []
    for name, target in targets.items():
        lines = []
        for measurement in target.measurements:
            progress.say(f"{name}: {measurement.describe()}")
            lines.append(_measure_line(measurement, measurer))
        if target.reason:
            lines.append(Line("", "", target.as_written, None, "not measurable yet", target.reason))
        wording = (target.criterion, target.as_written)
        measured.append(TargetResult(name, *wording, tuple(lines), target.remark))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Results(now, environment.describe(), tuple(measured), measurer.seconds)


def _measure_line(measurement: Measurement, measurer: TargetMeasurer) -> Line:
    unit, limits = unit_of(measurement), measurement.limits
    label, description = measurement.label, measurement.describe()
    wanted = describe_limits(limits, unit, measurement.levels)
    try:
        if measurement.experiment:
            found = measurer.remember(measurement, lambda: measure(measurement, measurer))
        else:
            found = measure(measurement, measurer)
    except AssayError as error:
        reason = str(error).partition("\n")[0]
        return Line(label, description, wanted, None, "not measurable yet", reason)
    verdict = judge(found.estimate, limits) if limits else None
    level = measurement.levels.reach(found.estimate.value)
    return Line(label, description, wanted, found, verdict, level=level)


def unit_of(measurement: Measurement) -> Unit:
    """Return the unit of a measurement's value and limits."""
    if isinstance(measurement, Change) and not measurement.relative:
        return "difference"
    if isinstance(measurement, Ingest) and not measurement.timed:
        return "count"
    if isinstance(measurement, TraceMeasurement) and measurement.figure == "max":
        return "count"
    if isinstance(measurement, Documents) and measurement.counted:
        return "count"
    return UNITS[type(measurement)]


def measure(wanted: Measurement, measurer: TargetMeasurer) -> MeasuredValue:
    """Measure one thing. Raises AssayError when what it needs is not here."""
    match wanted:
        case Change():
            base = measurer.run(wanted.base, wanted.dataset)
            return figures.change(base, measurer.run(wanted.pipeline, wanted.dataset), wanted)
        case Similarity():
            base = measurer.run(wanted.base, wanted.dataset)
            other = measurer.run(wanted.pipeline, wanted.dataset)
            return figures.similarity(base, other, wanted, measurer.encode)
        case Latency(chunks=int(chunks)):
            samples = measurer.time_grown(wanted.pipeline, wanted.dataset, chunks)
            found = figures.latency(samples, wanted)
            return _now(found, "ms", figures.warn_of_few(found, wanted.percentile))
        case LatencyRatio():
            times = measurer.interleave(wanted.base, wanted.pipeline, wanted.dataset)
            return _ratio(*times, wanted)
        case Ingest():
            return _ingest(wanted, measurer)
        case Stale():
            return _stale(wanted, measurer)
    run = measurer.run(wanted.pipeline, wanted.dataset)
    match wanted:
        case Score():
            return figures.score(run, wanted)
        case Latency():
            return figures.latency_of_run(run, wanted)
        case SlowestStage():
            return figures.slowest_stage(run, wanted)
        case Documents():
            return figures.documents(run, wanted)
        case Duplicates():
            return figures.duplicates(run, wanted, measurer.encode)
        case TraceFlow():
            return figures.flow(run)
        case TraceMeasurement():
            return figures.traced(run, wanted)


def _ratio(base: Sequence[float], other: Sequence[float], wanted: LatencyRatio) -> MeasuredValue:
    i = wanted.percentile
    old, new = (estimate_percentile(times, i).value for times in (base, other))
    ratio = estimate_percentile_ratio(base, other, i)
    return _now(ratio, "ratio", f"{old:.2f} → {new:.2f} ms")


def _ingest(wanted: Ingest, measurer: TargetMeasurer) -> MeasuredValue:
    made = measurer.ingest(wanted.pipeline, wanted.dataset, wanted.timed)
    if wanted.figure == "seconds_per_100_pages":
        return _pace(made, wanted.contexts)
    if wanted.figure == "seconds_of_slowest_document":
        times = {item.id: sum(item.seconds.values()) for item in made.documents}
        slowest = max(times, key=lambda name: times[name])
        found = Estimate(times[slowest], times[slowest], times[slowest], len(times))
        return _now(found, "s", f"{slowest}, of {len(times)} documents")
    cut = [item for item in made.documents if item.intact is not None]
    if not cut:
        raise AssayError(f"{wanted.dataset}: prescribes its passages, so that nothing is cut")
    if wanted.figure in ("on_target", "on_target_parts"):
        return _share_on_target(made, parts=wanted.figure == "on_target_parts")
    if wanted.figure == "integrity_failures":
        return _count(len(made.failures), len(cut), "documents")
    counted = made.collisions if wanted.figure == "collisions" else made.count("oversize")
    return _count(counted, len(made.tokens.sizes), "chunks")


def _share_on_target(made: Ingestion, parts: bool) -> MeasuredValue:
    """Return the share of chunks on target, with the bootstrap's interval over documents.

    Counted are the chunks of documents, or of `parts`, that have text for one of them.
    """
    if parts:
        by_document = [[*chain(*item.long_parts)] for item in made.documents]
    else:
        by_document = [[*item.tokens] for item in made.long_documents]
    counted = [sizes for sizes in by_document if sizes]
    if not counted:
        noun = "part of a document" if parts else "document"
        raise AssayError(f"{made.source}: no {noun} has {ON_TARGET[0]} tokens")
    share = estimate_mean_ratio(list(map(len, counted)), list(map(count_on_target, counted)))
    return _now(share, "share", f"of {sum(map(len, counted)):,} chunks")


def _pace(made: Ingestion, contexts: bool) -> MeasuredValue:
    """Return the seconds per 100 pages, with the bootstrap's interval over documents.

    What was not done document by document is spread over them by their pages.
    """
    left_out = set() if contexts else {"context"}
    total = sum(taken for name, taken in made.seconds.items() if name not in left_out)
    single = [sum(item.seconds.values()) for item in made.documents]
    shared = (total - sum(single)) / made.pages
    pages = [made.pages * item.words / made.words for item in made.documents]
    times = [own + shared * size for own, size in zip(single, pages, strict=True)]
    pace = estimate_mean_ratio(pages, times)
    scaled = Estimate(100 * pace.value, 100 * pace.low, 100 * pace.high, pace.n)
    slowest = max(made.seconds, key=lambda name: made.seconds[name])
    return _now(
        scaled,
        "s",
        f"{made.pages:.0f} pages; {slowest} {made.seconds[slowest] / total:.0%} of the time",
    )


def _stale(wanted: Stale, measurer: TargetMeasurer) -> MeasuredValue:
    collection = measurer.collection(wanted.dataset)
    found = count_stale(
        lambda: measurer.build(wanted.pipeline, wanted.dataset), collection, STALE_DEPTH
    )
    note = (
        f"{found.results} results of {found.searches} searches; {found.found} of {found.cuts} "
        "pieces taken out had been found before"
    )
    return _now(Estimate(found.stale, found.stale, found.stale, found.searches), "count", note)


def _count(number: int, of: int, noun: str) -> MeasuredValue:
    return _now(Estimate(number, number, number, of), "count", f"of {of:,} {noun}")


def _now(estimate: OpenEstimate, unit: Unit, note: str = "") -> MeasuredValue:
    when = datetime.now(UTC).isoformat(timespec="seconds")
    return MeasuredValue(estimate, unit, when, note=note)
