"""Runs beside a base: what a comparison holds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from assay.eval.runs.delays import describe_delays
from assay.eval.runs.execution.interleaved_timing import InterleavedTiming
from assay.eval.runs.latency import TOTAL
from assay.eval.runs.manifest import describe_order, describe_unread
from assay.eval.runs.stored import StoredRun, describe_without_hits
from assay.eval.runs.summary.comparability import (
    find_misfit,
)
from assay.eval.runs.summary.labels import label_runs
from assay.eval.runs.summary.summary import Summary
from assay.eval.scoring.measures import choose_headline, find, list_standard
from assay.eval.statistics.significance import ALPHA, POWER
from assay.eval.studies.comparison.conclusion import conclude
from assay.eval.studies.comparison.differences import (
    Difference,
    describe_symmetry,
)
from assay.eval.studies.comparison.latency_pairs import LatencyPair


@dataclass(frozen=True)
class Pair:
    """One run beside the base. `differences` are over all queries, `by_type` by type of query.

    `alone` holds, by measure, what p-value each of `differences` would have been adjusted to if
    this run were the only one beside the base. `types_differ` is the p-value of types of query
    that all differ by the same amount, adjusted for all runs; None where it is not tested.
    """

    base: Summary
    other: Summary
    differences: tuple[Difference, ...]
    by_type: tuple[Difference, ...]
    latency: tuple[LatencyPair, ...]
    alone: Mapping[str, float]
    types_differ: float | None = None

    @property
    def unshown(self) -> tuple[str, ...]:
        """The measures whose difference this run alone would have shown, and does not here."""
        return tuple(
            item.measure
            for item in self.differences
            if item.adjusted is not None and self.alone[item.measure] <= ALPHA < item.adjusted
        )

    @property
    def shown(self) -> tuple[Difference, ...]:
        """Every difference, those over all queries first."""
        return (*self.differences, *self.by_type)

    @property
    def headline(self) -> Difference:
        """The difference by which the run is called better or worse."""
        by_measure = {item.measure: item for item in self.differences}
        return by_measure[choose_headline(by_measure)]

    def scores(self, measure: str) -> Mapping[str, tuple[float, float]]:
        """Return {query id: (score in the base, score in the other)}."""
        base, other = self.base.scores[measure], self.other.scores[measure]
        return {query: (score, other[query]) for query, score in base.items()}


@dataclass(frozen=True)
class Comparison:
    """Runs beside a base, all on the same queries and judgments.

    `measures` are those tested. `beside` are shown without a verdict, since neither more nor less
    of them is better; the summaries hold both. `effect` is the difference worth a verdict.
    `searched` is the number of queries each run had, of which those that all share are compared.
    `timing` is of those of the runs that were timed in one job. `apart` are measures of answers
    that are tested as a family of their own, None where all measures were asked for by name;
    `unanswered` says why there are none, where some run has answers.
    """

    base: Summary
    pairs: tuple[Pair, ...]
    measures: tuple[str, ...]
    beside: tuple[str, ...]
    effect: float
    searched: tuple[int, ...]
    timing: InterleavedTiming | None
    apart: tuple[str, ...] | None
    unanswered: str

    @property
    def runs(self) -> list[StoredRun]:
        """The base and then the others."""
        return [self.base.run, *(pair.other.run for pair in self.pairs)]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What the runs are called, the base first; no two alike."""
        return label_runs(self.runs)

    @property
    def of_answers(self) -> bool:
        """Whether answers of a language model are compared too."""
        return any(find(name).of_answers for name in self.measures)

    @property
    def tests(self) -> int:
        """The number of differences over all queries in two families: headline, other measures."""
        return self._count(lambda name: name not in (self.apart or ()))

    @property
    def tests_headline(self) -> int:
        """The number of differences of the headline measure that are tested, before the others."""
        return self._count(lambda name: name == self.pairs[0].headline.measure)

    @property
    def tests_apart(self) -> int:
        """The number of differences of answers that are tested, as a family of their own."""
        return self._count(lambda name: name in (self.apart or ()))

    @property
    def tests_by_type(self) -> int:
        """The number of differences by type of query that are tested, as a family of their own."""
        return sum(item.p is not None for pair in self.pairs for item in pair.by_type)

    @cached_property
    def conclusions(self) -> tuple[str, ...]:
        """In a sentence or more for each run beside the base: whether it is better."""
        return tuple(
            conclude(pair.headline, pair.by_type, pair.types_differ, names, self.effect)
            for pair, names in zip(
                self.pairs, ((self.labels[0], label) for label in self.labels[1:]), strict=True
            )
        )

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know before believing the figures."""
        found = [
            f"{run.manifest.id} is degraded on {queries} of {len(run.queries)} queries: {line}"
            for run in self.runs
            for line, queries in run.manifest.degraded.items()
        ]
        found += [
            f"{label}: {line}"
            for run, label in zip(self.runs, self.labels, strict=True)
            if (line := describe_unread(run.manifest.index))
        ]
        found += [
            f"{run.manifest.name}: {line}"
            for run in self.runs
            for line in (
                describe_without_hits(run),
                describe_order(run.manifest.rising_scores),
            )
            if line
        ]
        if self.base.models:
            found.append(self.base.models)
        count = len(self.base.run.queries)
        if any(run.manifest.sampled for run in self.runs):
            of = self.base.run.manifest.collection.queries
            found.append(f"a sample: {count} of the collection's {of} queries")
        for pair, label in zip(self.pairs, self.labels[1:], strict=True):
            if resting := [item for item in pair.shown if item.presumes_symmetry]:
                found.append(f"{label}: {describe_symmetry(resting)}")
        summaries = (self.base, *(pair.other for pair in self.pairs))
        for summary, label in zip(summaries, self.labels, strict=True):
            found += [f"{label}: {line}" for line in self._describe_waits(summary)]
        found += filter(None, [find_misfit(self.runs), self.unanswered])
        if set(self.searched) != {count}:
            each = ", ".join(map(str, self.searched))
            found.append(
                f"the runs searched {each} queries: only the {count} that all share"
                f"{', and a model answered,' if self.of_answers else ''} are compared"
            )
        return tuple(found)

    def _count(self, counts: Callable[[str], bool]) -> int:
        differences = (item for pair in self.pairs for item in pair.differences)
        return sum(item.p is not None and counts(item.measure) for item in differences)

    def _describe_waits(self, summary: Summary) -> tuple[str, ...]:
        """Return what the latencies that are compared show of waits that may be no search."""
        together = self.timing.milliseconds if self.timing else {}
        manifest = summary.run.manifest
        times = together.get(manifest.id)
        return describe_delays({TOTAL: times}, manifest.remote) if times else summary.delays

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as the JSON object that `assay compare --json` prints."""
        collection = self.base.run.manifest.collection
        return {
            "collection": {"name": collection.name, "digest": collection.digest},
            "queries": len(self.base.run.queries),
            "alpha": ALPHA,
            "power": POWER,
            "effect": self.effect,
            "ir_measures": list_standard((*self.measures, *self.beside)),
            "headline": self.pairs[0].headline.measure,
            "tests": self.tests,
            "tests_headline": self.tests_headline,
            "apart": None if self.apart is None else list(self.apart),
            "tests_apart": self.tests_apart,
            "tests_by_type": self.tests_by_type,
            "warnings": list(self.warnings),
            "base": _run(self.base, self.labels[0], self.beside),
            "others": [
                {
                    **_run(pair.other, label, self.beside),
                    "conclusion": conclusion,
                    "types_differ": pair.types_differ,
                    "differences": [asdict(item) for item in pair.differences],
                    "by_type": [asdict(item) for item in pair.by_type],
                    "alone": dict(pair.alone),
                    "latency": [asdict(item) for item in pair.latency],
                }
                for pair, label, conclusion in zip(
                    self.pairs, self.labels[1:], self.conclusions, strict=True
                )
            ],
        }


def _run(summary: Summary, label: str, beside: Sequence[str]) -> dict[str, Any]:
    manifest = summary.run.manifest
    return {
        "run": manifest.id,
        "label": label,
        "config": manifest.name,
        "degraded": manifest.degraded,
        "sampled": manifest.sampled,
        "beside": {name: summary.means[name].value for name in beside},
    }
