"""Runs beside a base, or all pairs of them: what a comparison holds."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any

from assay.eval.report.formats import count, p_value
from assay.eval.runs.execution.interleaved_timing import InterleavedTiming
from assay.eval.runs.generated_answers import read
from assay.eval.runs.machine_load import describe_disturbance
from assay.eval.runs.manifest import describe_cut, describe_order, describe_unread
from assay.eval.runs.stored import StoredRun, describe_degraded, describe_without_hits
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.comparability import find_misfit
from assay.eval.runs.summary.difference_bounds import (
    DifferenceBounds,
    bound_differences,
    describe_bounds,
)
from assay.eval.runs.summary.labels import label_runs, merge_lines
from assay.eval.runs.summary.open_pairs import list_open
from assay.eval.runs.summary.returned_tokens import describe_tokens
from assay.eval.runs.summary.summary import Summary
from assay.eval.scoring.measures import choose_headline, find, list_standard
from assay.eval.statistics.significance import ALPHA, POWER
from assay.eval.studies.comparison.conclusion import conclude, describe_types, name_opposite
from assay.eval.studies.comparison.differences import Difference, describe_symmetry
from assay.eval.studies.comparison.latency_pairs import LatencyPair
from assay.eval.studies.comparison.ranking import conclude_ranking, group_runs

LONGEST = 120  # characters of the names in an id
MOST_LINES = 3  # of the verdict, on pairs whose types of query say something else


@dataclass(frozen=True)
class Pair:
    """One run beside another. `differences` are over all queries, `by_type` by type of query.

    `alone` holds, by measure, what p-value each of `differences` would have been adjusted to if
    these two runs were the only ones. `types_differ` is the p-value of types of query
    that all differ by the same amount, adjusted for all pairs; None where it is not tested.
    All these are of the claim that the comparison leads with; `opposite` is the headline by the
    other one. `design_effect` is how many times as large the headline's variance is as if no
    question shared a document.
    """

    base: Summary
    other: Summary
    differences: tuple[Difference, ...]
    by_type: tuple[Difference, ...]
    latency: tuple[LatencyPair, ...]
    alone: Mapping[str, float]
    types_differ: float | None
    opposite: Difference
    design_effect: float

    @property
    def effective_queries(self) -> float:
        """The number of independent questions that the headline's difference rests on."""
        return self.headline.n / max(self.design_effect, 1.0)

    @property
    def unshown(self) -> tuple[str, ...]:
        """The measures whose difference these two alone would have shown, and is not here."""
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
    """Runs beside a base, or all pairs of runs, all on the same queries and judgments.

    Of `all_pairs` the base is the run of the best headline mean, and the others follow by theirs;
    in each of the pairs the better run is the base, and those of the best run come first.

    `measures` are those tested. `beside` are shown without a verdict, since neither more nor less
    of them is better; the summaries hold both. `effect` is the difference worth a verdict.
    `searched` is the number of queries each run had, of which those that all share are compared.
    `timing` is of those of the runs that were timed in one job. `apart` are measures of answers
    that are tested as a family of their own, None where all measures were asked for by name;
    `unanswered` says why there are none, where some run has answers. `claims` are what the
    questions can be a verdict on.
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
    claims: Claims
    all_pairs: bool = False

    @cached_property
    def id(self) -> str:
        """The name of its folder: what was compared, and a digest of all it is of."""
        collection = self.base.run.manifest.collection.name
        parts: list[Any] = [
            [run.manifest.id for run in self.runs],
            self.measures,
            self.beside,
            self.effect,
        ]
        if self.all_pairs:
            parts.append("all pairs")
        if self.of_answers:
            parts.append([found.digest for run in self.runs if (found := read(run.folder))])
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]
        names = "-".join(run.manifest.name for run in self.runs)[:LONGEST]
        return f"compare-{names}-{collection.replace(':', '.').replace('/', '.')}-{digest}"

    @property
    def environment(self) -> Mapping[str, Any]:
        """Nothing: each run has its own, and where runs are compared changes no figure."""
        return {}

    @cached_property
    def against_base(self) -> tuple[Pair, ...]:
        """The pair of each other run with the base."""
        return tuple(pair for pair in self.pairs if pair.base is self.base)

    @property
    def summaries(self) -> tuple[Summary, ...]:
        """The base and then the others."""
        return (self.base, *(pair.other for pair in self.against_base))

    @property
    def runs(self) -> list[StoredRun]:
        """The base and then the others."""
        return [summary.run for summary in self.summaries]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What the runs are called, the base first; no two alike."""
        return label_runs(self.runs)

    @cached_property
    def names(self) -> tuple[tuple[str, str], ...]:
        """What the two runs of each pair are called: the base, and the other."""
        called = {id(item): name for item, name in zip(self.summaries, self.labels, strict=True)}
        return tuple((called[id(pair.base)], called[id(pair.other)]) for pair in self.pairs)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The letters of each run, of all pairs: those that share one are not shown to differ."""
        places = {label: i for i, label in enumerate(self.labels)}
        differ = [
            (places[base], places[other])
            for (base, other), pair in zip(self.names, self.pairs, strict=True)
            if pair.headline.shown
        ]
        return group_runs(len(self.labels), differ)

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
        """In a sentence or more for each pair: whether the other is better than its base."""
        return tuple(
            conclude(pair, names, self.effect, self.claims)
            for pair, names in zip(self.pairs, self.names, strict=True)
        )

    @cached_property
    def tokens(self) -> str:
        """That runs return unequal amounts of text; "" where they do not."""
        return describe_tokens(
            self.labels, [item.means for item in self.summaries], self.beside[-1]
        )

    @property
    def lead(self) -> tuple[str, ...]:
        """What comes before the conclusions: what limits them all."""
        return tuple(filter(None, [self.tokens, self.claims.describe()]))

    def describe_questions(self) -> str:
        """Say on how many documents the queries are, and as how many they count; "" for as many."""
        if self.claims.single:
            return ""
        counts = [pair.effective_queries for pair in self.pairs]
        ends = dict.fromkeys(f"{number:,.0f}" for number in (min(counts), max(counts)))
        told = f", on {self.claims.count_groups()}"
        if round(min(counts)) < len(self.base.run.queries):
            told += f": they count as about {' to '.join(ends)} independent ones"
        return told

    @cached_property
    def verdict(self) -> tuple[str, ...]:
        """What is shown, in lines: the conclusions, or of all pairs which run is the best.

        Of all pairs also those whose types of query say something else, at most three. What limits
        all conclusions comes first: that runs return unequal amounts of text, that nothing can be
        told beyond these documents.
        """
        if not self.all_pairs:
            return (*self.lead, *self.conclusions)
        headlines = [pair.headline for pair in self.against_base]
        shown = sum(pair.headline.shown for pair in self.pairs)
        against = [
            f"{other} against {base}: {told}"
            for (base, other), pair in zip(self.names, self.pairs, strict=True)
            if (told := describe_types(pair.headline, pair.by_type, pair.types_differ))
        ]
        if (more := len(against) - MOST_LINES) > 0:
            against[MOST_LINES:] = [f"Types of query say so of {count(more, 'more pair')}."]
        ranking = conclude_ranking(self.labels, headlines, shown, self.claims)
        more_told = filter(None, [self.tell_opposite(), self._explain_pairs()])
        return (*self.lead, ranking, *more_told, *against)

    @cached_property
    def bounds(self) -> tuple[DifferenceBounds, ...]:
        """By pair, what judging the unjudged could make of the headline; of nDCG@k alone."""
        measure = find(self.pairs[0].headline.measure)
        cutoff = measure.cutoff
        if cutoff is None or measure.name != f"nDCG@{cutoff}":
            return ()
        found, _ = list_open(self.runs, cutoff)
        scores = [item.scores[measure.name] for item in self.summaries]
        return tuple(bound_differences(self.runs, scores, found, cutoff, all_pairs=self.all_pairs))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know before believing the figures."""
        said = [
            (label, line)
            for run, label in zip(self.runs, self.labels, strict=True)
            for line in (
                *describe_degraded(run),
                describe_unread(run.manifest.index),
                describe_without_hits(run),
                describe_order(run.manifest.rising_scores),
                describe_cut(run.manifest.cut, len(run.queries)),
            )
        ]
        together = self.timing.milliseconds if self.timing else {}
        said += [
            (label, summary.disturbance)
            for summary, label in zip(self.summaries, self.labels, strict=True)
            if summary.run.manifest.id not in together
        ]
        found = merge_lines(said)
        queries = len(self.base.run.queries)
        if any(run.manifest.sampled for run in self.runs):
            of = self.base.run.manifest.collection.queries
            found.append(f"a sample: {queries} of the collection's {of} queries")
        found += self._list_fragile()
        load = self.timing.load if self.timing else None
        busy = describe_disturbance(load, "Compare the configs again with --rerun")
        found += filter(None, [busy, find_misfit(self.runs), self.unanswered])
        if favours := self.base.run.manifest.collection.favours:
            found.append(
                f"the questions favour {favours}: confirm a difference between keyword and dense "
                "search on questions that people asked"
            )
        if set(self.searched) != {queries}:
            each = ", ".join(map(str, self.searched))
            found.append(
                f"the runs searched {each} queries: only the {queries} that all share"
                f"{', and a model answered,' if self.of_answers else ''} are compared"
            )
        unjudged = describe_bounds(self.pairs[0].headline.measure, self.bounds)
        found += filter(None, [unjudged, self.base.models, self.base.absent])
        return tuple(found)

    def _explain_pairs(self) -> str:
        """Say which pairs would differ if each was compared by itself, and why not here."""
        alone = [
            f"{other} and {base} (p {p_value(pair.alone[pair.headline.measure])})"
            for (base, other), pair in zip(self.names, self.pairs, strict=True)
            if pair.headline.measure in pair.unshown
        ]
        if not alone:
            return ""
        more = f" and {count(len(alone) - MOST_LINES, 'more pair')}"
        listed = ", ".join(alone[:MOST_LINES]) + (more if len(alone) > MOST_LINES else "")
        return (
            f"Compared by themselves, {listed} would be shown to differ: two runs need less "
            f"evidence than {len(self.labels)}, of which some two often differ by chance."
        )

    def tell_opposite(self) -> str:
        """Say of which pairs the other claim's verdict differs; "" where of none."""
        differing = [
            f"{other} and {base}"
            for (base, other), pair in zip(self.names, self.pairs, strict=True)
            if pair.opposite.shown != pair.headline.shown
        ]
        if not differing:
            return ""
        more = f" and {count(len(differing) - MOST_LINES, 'more pair')}"
        listed = ", ".join(differing[:MOST_LINES]) + (more if len(differing) > MOST_LINES else "")
        return name_opposite(self.claims, listed)

    def _list_fragile(self) -> list[str]:
        """Say which findings are fragile; of all pairs those of the headline, in one line."""
        if not self.all_pairs:
            return [
                f"{label}: {describe_symmetry(resting)}"
                for pair, label in zip(self.pairs, self.labels[1:], strict=True)
                if (resting := [item for item in pair.shown if item.presumes_symmetry])
            ]
        fragile = [
            f"{other} and {base}"
            for (base, other), pair in zip(self.names, self.pairs, strict=True)
            if pair.headline.presumes_symmetry
        ]
        if not fragile:
            return []
        more = f" and {len(fragile) - MOST_LINES} more pairs" if len(fragile) > MOST_LINES else ""
        listed = f"{', '.join(fragile[:MOST_LINES])}{more}"
        line = describe_symmetry([self.pairs[0].headline])
        return [f"{listed}: {line}"]

    def _count(self, counts: Callable[[str], bool]) -> int:
        differences = (item for pair in self.pairs for item in pair.differences)
        return sum(item.p is not None and counts(item.measure) for item in differences)

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as the JSON object that `assay compare --json` prints."""
        collection = self.base.run.manifest.collection
        told: dict[str, Any] = {
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
            "claim": self.claims.as_json(),
            "verdict": list(self.verdict),
            "warnings": list(self.warnings),
        }
        runs = [
            _run(summary, label, self.beside)
            for summary, label in zip(self.summaries, self.labels, strict=True)
        ]
        pairs = [
            {
                "conclusion": conclusion,
                "claims": _list_claims(pair, self.claims),
                "design_effect": pair.design_effect,
                "types_differ": pair.types_differ,
                "differences": [item.as_json() for item in pair.differences],
                "by_type": [item.as_json() for item in pair.by_type],
                "alone": dict(pair.alone),
                "latency": [asdict(item) for item in pair.latency],
                "bounds": bounds.as_json() if bounds else None,
            }
            for pair, conclusion, bounds in zip_longest(self.pairs, self.conclusions, self.bounds)
        ]
        if not self.all_pairs:
            others = [{**run, **pair} for run, pair in zip(runs[1:], pairs, strict=True)]
            return {**told, "base": runs[0], "others": others}
        return {
            **told,
            "ranking": [
                {**run, "means": {name: asdict(item.means[name]) for name in self.measures}}
                | {"rank": rank, "groups": groups}
                for rank, (run, item, groups) in enumerate(
                    zip(runs, self.summaries, self.groups, strict=True), start=1
                )
            ],
            "pairs": [
                {"base": base, "other": other, **pair}
                for (base, other), pair in zip(self.names, pairs, strict=True)
            ],
        }


def _list_claims(pair: Pair, claims: Claims) -> dict[str, Any]:
    """Return by claim the p-values and the verdict of the headline measure."""
    questions, documents = pair.headline, pair.opposite
    if claims.leading == "documents":
        questions, documents = documents, questions
    return {
        name: {"p": item.p, "adjusted": item.adjusted, "verdict": item.verdict}
        for name, item in (("questions", questions), ("documents", documents))
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
