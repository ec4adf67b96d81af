"""Comparison of stored runs with a base, query by query."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from assay.eval.runs import generated_answers
from assay.eval.runs.delays import describe_delays
from assay.eval.runs.execution.interleaved_timing import InterleavedTiming
from assay.eval.runs.latency import TOTAL
from assay.eval.runs.manifest import describe_order, describe_unread
from assay.eval.runs.stored import StoredRun, describe_without_hits
from assay.eval.runs.summary.comparability import (
    check_comparable,
    describe_unanswered,
    find_misfit,
    share_answered,
    share_queries,
)
from assay.eval.runs.summary.labels import label_runs
from assay.eval.runs.summary.summary import Summary, summarise
from assay.eval.scoring.measures import choose_headline, find, list_standard
from assay.eval.statistics.significance import ALPHA, POWER
from assay.eval.studies.comparison.conclusion import conclude
from assay.eval.studies.comparison.differences import (
    EFFECT,
    Difference,
    contrast_measures,
    contrast_types,
    describe_symmetry,
    judge_stages,
    judge_types,
)
from assay.eval.studies.comparison.latency_pairs import LatencyPair, pair_latencies
from assay.retrievers.base import AssayError

DEFAULT = ("nDCG@10", "MRR@10", "Hit@1", "Hit@5", "Recall@20", "Recall@2000tok")
# What the reader needs beside the measures, of which neither more nor less is better.
BESIDE = ("Judged@10", "Tokens@10")
# Added to the default ones where all runs have answers by one model and prompt; a family apart.
OF_ANSWERS = ("AnswerF1", "QuoteShare", "CitationP", "CitationR", "Abstention")


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


def check_request(runs: int, measures: Sequence[str] | None, effect: float) -> None:
    """Raise AssayError unless so many runs can be compared so, before any of them is made."""
    if runs < 2:
        raise AssayError(
            f"a comparison needs two runs or more, and got {runs}; "
            "for instance: assay compare bm25 hybrid"
        )
    if measures and not any(find(name).is_ranked for name in measures):
        raise AssayError("a comparison needs a measure other than Judged and Tokens")
    if not 0 < effect <= 1:
        raise AssayError(f"effect: must lie above 0 and be at most 1, not {effect}")


def compare(
    runs: Sequence[StoredRun],
    measures: Sequence[str] | None = None,
    effect: float = EFFECT,
    timing: InterleavedTiming | None = None,
    apart: Sequence[str] | None = None,
    summarise: Callable[[StoredRun, Sequence[str]], Summary] = summarise,
) -> Comparison:
    """Compare every run with the first, on `measures`.

    Without `measures` they are `DEFAULT` and, where one model has answered all queries of all runs
    by one prompt, those of `OF_ANSWERS` that all have, which are then tested `apart`: whether a
    model has answered changes no p-value of the others.

    `timing` is of those of the pipelines that were timed in one job; without it no latency is held
    against another. `summarise` computes the figures of a run in measures, or knows them.

    A difference that is not significant is "no difference shown" where the collection would have
    shown one of `effect` with power 0.8, else "not shown (too few queries)" (see `judge_family`).
    The same call returns the same figures. Where some searched a sample, all are compared on the
    queries they share. Raises AssayError when runs were not judged alike, naming what differs.
    """
    if not measures:
        apart = _list_of_answers(runs)
        measures = (*DEFAULT, *apart)
    unanswered = describe_unanswered(runs) if apart is not None and not apart else ""
    check_request(len(runs), measures, effect)
    wanted = [find(name) for name in measures]
    tested = tuple(dict.fromkeys(item.name for item in wanted if item.is_ranked))
    described = [item.name for item in wanted if not item.is_ranked]
    beside = tuple(dict.fromkeys([*described, *BESIDE]))
    for i, run in enumerate(runs[1:], start=1):
        if run.manifest.id in {earlier.manifest.id for earlier in runs[:i]}:
            raise AssayError(f"{run.manifest.id} is given twice; a comparison needs different runs")
    searched = tuple(len(run.queries) for run in runs)
    runs = share_queries(runs)
    if any(item.of_answers for item in wanted):
        runs = share_answered(runs)
    for run in runs[1:]:
        check_comparable(runs[0], run)
    base, *others = [summarise(run, [*tested, *beside]) for run in runs]
    contrasts = [contrast_measures(base, other, tested) for other in others]
    judged = judge_stages(contrasts, effect, apart or ())
    headline = choose_headline(name for name in tested if name not in (apart or ()))
    leading = [
        next(item.difference for item in found if item.difference.measure == headline)
        for found in judged
    ]
    by_type, types_differ = judge_types(
        [contrast_types(base, other, headline) for other in others],
        effect,
        [item.adjusted or 0.0 for item in leading],
    )
    return Comparison(
        base=base,
        pairs=tuple(
            Pair(
                base,
                other,
                tuple(item.difference for item in over_all),
                tuple(of_types),
                pair_latencies(base.run, other.run, timing),
                {
                    item.difference.measure: item.alone
                    for item in over_all
                    if item.alone is not None
                },
                differ,
            )
            for other, over_all, of_types, differ in zip(
                others, judged, by_type, types_differ, strict=True
            )
        ),
        measures=tested,
        beside=beside,
        effect=effect,
        searched=searched,
        timing=timing,
        apart=None if apart is None else tuple(apart),
        unanswered=unanswered,
    )


def _list_of_answers(runs: Sequence[StoredRun]) -> list[str]:
    """Return the measures of answers that are compared where none are named."""
    if find_misfit(runs):
        return []
    available = [generated_answers.list_available(run) for run in runs]
    return [name for name in OF_ANSWERS if all(name in names for names in available)]


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
