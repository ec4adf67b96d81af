"""The comparison of runs with a base, or of all pairs of runs."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import zip_longest
from statistics import fmean
from typing import Any

from assay.eval.collections.traits import find_overlaps
from assay.eval.report.formats import count
from assay.eval.runs.execution.interleaved_timing import InterleavedTiming
from assay.eval.runs.generated_answers import read
from assay.eval.runs.json_form import by, constant, in_json, length, maybe, shape
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
from assay.eval.scoring.measures import find, list_standard
from assay.eval.statistics.significance import ALPHA, POWER
from assay.eval.studies.comparison import asked as asking
from assay.eval.studies.comparison.asked import Log, Reweighing, Reweighted, Weights
from assay.eval.studies.comparison.differences import describe_symmetry
from assay.eval.studies.comparison.pair import Pair
from assay.eval.studies.comparison.shown import ComparedPair, ComparedRun
from assay.eval.studies.comparison.words import (
    MOST_LINES,
    describe_types,
    group_runs,
    name_opposite,
    name_pairs,
    tell_alone,
    tell_pair,
    tell_ranking,
)

LONGEST = 120  # characters of the names in an id
COMPARISON, TABLE, FIRST = "comparison.json", "differences.csv", "first_hits.csv"  # its files


@in_json(
    "effect",
    "tests",
    "tests_headline",
    "apart",
    "tests_apart",
    "tests_by_type",
    "overlap",
    "verdict",
    "warnings",
    alpha=constant(ALPHA),
    power=constant(POWER),
    asked=maybe("reweighing"),
    base=maybe("base_run"),
    others=maybe(shape("others", spread=("0", "1"))),
    ranking=maybe(shape("ranking", rank="0", spread=("1",), groups="2", means="1.means")),
    pairs=maybe(shape("named_pairs", base="0.0", other="0.1", spread=("1",))),
    collection=shape("base.run.manifest.collection", "name", "digest"),
    queries=length("base.run.queries"),
    ir_measures=by(list_standard, "shown_measures"),
    headline="pairs.0.headline.measure",
    claim="claims",
)
@dataclass(frozen=True)
class Comparison:
    """Runs compared with a base, or all pairs of runs, on the same queries and judgments.

    With `all_pairs` the base is the run with the best headline mean, and the others follow in the
    order of theirs; in each pair the better run is the base, and the pairs of the best run come
    first.

    Attributes:
        base: The run that the others are compared with.
        pairs: The compared pairs.
        measures: The measures that are tested.
        beside: The measures shown without a verdict, since neither more nor less of them is
            better; the summaries hold both kinds.
        effect: The smallest difference that would matter.
        searched: The number of queries of each run; those that all share are compared.
        timing: The latencies of the runs that were timed in one job.
        apart: The measures, of answers or unwanted documents, that are tested as a family of their
            own; None if there are none and all measures were requested by name.
        unanswered: The reason why there are none although some run has answers; else "".
        claims: The claims that the questions can support.
        all_pairs: True if all pairs are compared.
        asked: A log of real questions, for which a weighted verdict is given too.
        brief: True to report it in half a page.

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
    asked: Log | None = None
    brief: bool = False

    @cached_property
    def id(self) -> str:
        """The name of its folder: the names of the runs, and a digest of all that defines it."""
        collection = self.base.run.manifest.collection.name
        parts: list[Any] = [
            [run.manifest.id for run in self.runs],
            self.measures,
            self.beside,
            self.effect,
        ]
        if self.all_pairs:
            parts.append("all pairs")
        if self.asked:
            parts.append(asdict(self.asked))
        if self.of_answers:
            parts.append([found.digest for run in self.runs if (found := read(run.folder))])
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]
        names = "-".join(run.manifest.name for run in self.runs)[:LONGEST]
        return f"compare-{names}-{collection.replace(':', '.').replace('/', '.')}-{digest}"

    @property
    def environment(self) -> Mapping[str, Any]:
        """Empty: each run has its own environment, and that of the comparison changes no figure."""
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
        """The display names of the runs, the base first; all different."""
        return label_runs(self.runs)

    @cached_property
    def names(self) -> tuple[tuple[str, str], ...]:
        """The display names of the two runs of each pair: the base, and the other."""
        called = {id(item): name for item, name in zip(self.summaries, self.labels, strict=True)}
        return tuple((called[id(pair.base)], called[id(pair.other)]) for pair in self.pairs)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The letters of each run; runs that share a letter are not shown to differ."""
        places = {label: i for i, label in enumerate(self.labels)}
        differ = [
            (places[base], places[other])
            for (base, other), pair in zip(self.names, self.pairs, strict=True)
            if pair.headline.shown
        ]
        return group_runs(len(self.labels), differ)

    @property
    def of_answers(self) -> bool:
        """True if answers of a language model are compared too."""
        return any(find(name).of_answers for name in self.measures)

    @property
    def tests(self) -> int:
        """The number of tested differences over all queries, but for those in `apart`."""
        return self._count(lambda name: name not in (self.apart or ()))

    @property
    def tests_headline(self) -> int:
        """The number of tested differences of the headline measure, which is tested first."""
        return self._count(lambda name: name == self.pairs[0].headline.measure)

    @property
    def name_apart(self) -> str:
        """The family of `apart` in words."""
        own = [name for name in self.apart or () if not find(name).of_answers]
        answers = ["measures of answers"] if len(own) < len(self.apart or ()) else []
        return " and ".join([*own, *answers])

    @property
    def tests_apart(self) -> int:
        """The number of tested differences of answers, which are a family of their own."""
        return self._count(lambda name: name in (self.apart or ()))

    @property
    def tests_by_type(self) -> int:
        """The number of tested differences by type of query, which are a family of their own."""
        return sum(item.p is not None for pair in self.pairs for item in pair.by_type)

    @cached_property
    def conclusions(self) -> tuple[str, ...]:
        """The verdict on each pair, in a sentence or more."""
        return tuple(
            tell_pair(pair, names, self.effect, self.claims)
            for pair, names in zip(self.pairs, self.names, strict=True)
        )

    @cached_property
    def tokens(self) -> str:
        """A sentence that runs return unequal amounts of text; "" if they do not."""
        return describe_tokens(
            self.labels, [item.means for item in self.summaries], self.beside[-1]
        )

    @property
    def lead(self) -> tuple[str, ...]:
        """The sentences before the conclusions, on limits that apply to all of them."""
        return tuple(filter(None, [self.tokens, self.claims.describe()]))

    def describe_questions(self) -> str:
        """Return the number of documents and of effective queries; "" if no queries share one."""
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
        """The lines of the verdict: the limits (`lead`), the differences and the log.

        The last lines are the verdict weighted for the log of real questions, if there is one.
        """
        return (*self.lead, *self.told, *self.for_log)

    @cached_property
    def told(self) -> tuple[str, ...]:
        """The conclusion of each pair with a base; for all pairs, the ranking in few lines.

        For all pairs it also names at most three pairs whose types of query disagree with it.
        """
        if not self.all_pairs:
            return self.conclusions
        headlines = [pair.headline for pair in self.against_base]
        alone = self._choose(lambda pair: pair.headline.measure in pair.unshown)
        types = [
            f"{other} against {base}: {told}"
            for (base, other), pair in zip(self.names, self.pairs, strict=True)
            if (told := describe_types(pair.headline, pair.by_type, pair.types_differ))
        ]
        if (more := len(types) - MOST_LINES) > 0:
            types[MOST_LINES:] = [f"{count(more, 'more pair')} differ by query type."]
        shown = sum(pair.headline.shown for pair in self.pairs)
        ranking = tell_ranking(self.labels, headlines, shown, self.claims)
        further = [self.tell_opposite(), tell_alone(alone, len(self.labels))]
        return (ranking, *filter(None, further), *types)

    @property
    def for_log(self) -> tuple[str, ...]:
        """The verdict on each run against the base, weighted for the log; empty without a log."""
        return tuple(
            asking.tell(pair, found, self.weights, self.asked)
            for pair, found in zip(self.against_base, self.reweighted, strict=False)
            if self.asked and self.weights
        )

    @cached_property
    def overlaps(self) -> Mapping[str, float]:
        """The share of each query's words that its answer has; see `traits.find_overlaps`."""
        run = self.base.run
        return find_overlaps(run.queries.values(), run.gold, run.gold_texts)

    @cached_property
    def weights(self) -> Weights | None:
        """The weights of the questions by the log; None without a log. Raises AssayError."""
        return asking.weigh(self.asked, self.base.run.queries) if self.asked else None

    @cached_property
    def reweighted(self) -> tuple[Reweighted, ...]:
        """The differences from the base weighted for the log; empty without a log."""
        if self.weights is None:
            return ()
        clusters = self.claims.cluster(self.base.run.queries)
        return tuple(asking.reweigh(pair, self.weights, clusters) for pair in self.against_base)

    @cached_property
    def bounds(self) -> tuple[DifferenceBounds, ...]:
        """The bounds of the headline of each pair if all hits were judged; for nDCG@k alone."""
        measure = find(self.pairs[0].headline.measure)
        cutoff = measure.cutoff
        if cutoff is None or measure.name != f"nDCG@{cutoff}":
            return ()
        found, _ = list_open(self.runs, cutoff)
        scores = [item.scores[measure.name] for item in self.summaries]
        return tuple(bound_differences(self.runs, scores, found, cutoff, all_pairs=self.all_pairs))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Warnings that a reader must know before trusting the figures."""
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
        if any(one.could_turn for one in self.bounds):
            found.append(describe_bounds(self.pairs[0].headline.measure, self.bounds))
        found += filter(None, [self.base.models, self.base.absent])
        return tuple(found)

    def tell_opposite(self) -> str:
        """Return a sentence on the pairs whose verdict differs by the other claim; "" for none."""
        differing = self._choose(lambda pair: pair.opposite.shown != pair.headline.shown)
        if not differing:
            return ""
        return name_opposite(self.claims, name_pairs(differing))

    def _list_fragile(self) -> list[str]:
        """Return lines on fragile findings; for all pairs one line on those of the headline."""
        if not self.all_pairs:
            return [
                f"{label}: {describe_symmetry(resting)}"
                for pair, label in zip(self.pairs, self.labels[1:], strict=True)
                if (resting := [item for item in pair.shown if item.presumes_symmetry])
            ]
        fragile = self._choose(lambda pair: pair.headline.presumes_symmetry)
        if not fragile:
            return []
        line = describe_symmetry([self.pairs[0].headline])
        return [f"{name_pairs(fragile)}: {line}"]

    def _choose(self, wanted: Callable[[Pair], bool]) -> list[str]:
        """Return the display names of the pairs that are `wanted`, each as "A and B"."""
        return [
            f"{other} and {base}"
            for (base, other), pair in zip(self.names, self.pairs, strict=True)
            if wanted(pair)
        ]

    def _count(self, counts: Callable[[str], bool]) -> int:
        differences = (item for pair in self.pairs for item in pair.differences)
        return sum(item.p is not None and counts(item.measure) for item in differences)

    @property
    def overlap(self) -> float | None:
        """The mean of the overlaps; None if there are none."""
        return fmean(self.overlaps.values()) if self.overlaps else None

    @property
    def shown_measures(self) -> tuple[str, ...]:
        """The measures that are compared, and those shown with them."""
        return (*self.measures, *self.beside)

    @property
    def shown_runs(self) -> list[ComparedRun]:
        """The runs, as they are shown."""
        named = zip(self.summaries, self.labels, strict=True)
        return [ComparedRun(*item, self.measures, self.beside) for item in named]

    @property
    def shown_pairs(self) -> list[ComparedPair]:
        """The pairs, as they are shown."""
        told = zip_longest(self.pairs, self.conclusions, self.bounds)
        return [ComparedPair(*item, self.claims) for item in told]

    @property
    def base_run(self) -> ComparedRun | None:
        """The base, as it is shown; None if all pairs are compared."""
        return None if self.all_pairs else self.shown_runs[0]

    @property
    def others(self) -> list[tuple[ComparedRun, ComparedPair]] | None:
        """The runs that are compared with the base; None if all pairs are compared."""
        if self.all_pairs:
            return None
        return list(zip(self.shown_runs[1:], self.shown_pairs, strict=True))

    @property
    def ranking(self) -> list[tuple[int, ComparedRun, str]] | None:
        """The rank, the run and its letters, if all pairs are compared."""
        if not self.all_pairs:
            return None
        runs = enumerate(zip(self.shown_runs, self.groups, strict=True), start=1)
        return [(rank, run, groups) for rank, (run, groups) in runs]

    @property
    def named_pairs(self) -> list[tuple[tuple[str, str], ComparedPair]] | None:
        """The pairs with the names of their runs, if all are compared."""
        return list(zip(self.names, self.shown_pairs, strict=True)) if self.all_pairs else None

    @property
    def reweighing(self) -> Reweighing | None:
        """The comparison for questions as in a log; None if there is no log."""
        if not (self.asked and self.weights):
            return None
        return Reweighing(self.asked, self.weights, self.reweighted)
