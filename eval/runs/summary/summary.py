"""The summary of a run: measures and latencies with their intervals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

from assay.eval.collections.collection import Query
from assay.eval.collections.judgment_source import describe_absent, describe_models
from assay.eval.report.formats import enumerate_words
from assay.eval.runs import generated_answers
from assay.eval.runs.ann_recall import find_recalls
from assay.eval.runs.json_form import by, in_json, keyed, length, or_null, shape
from assay.eval.runs.latency import TOTAL, collect_times
from assay.eval.runs.machine_load import describe_disturbance
from assay.eval.runs.manifest import describe_cut, describe_order, describe_unread
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.attribution import Attribution, attribute
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.cost import Cost, find_cost
from assay.eval.runs.summary.generated_answers import Answers, examine_answers
from assay.eval.runs.summary.legs_alone import LegAlone, score_legs
from assay.eval.runs.summary.means import estimate_means, show_mean
from assay.eval.runs.summary.traffic import TrafficEstimates, estimate_traffic
from assay.eval.runs.summary.unanswerable_queries import Abstention, examine_answering
from assay.eval.runs.summary.unjudged import UnjudgedBounds, examine
from assay.eval.scoring import measures
from assay.eval.scoring.calculation import Scores
from assay.eval.statistics.estimates import Estimate, OpenEstimate, estimate_percentile
from assay.retrievers.base.near_empty import describe_near_empty, is_near_empty, shorten

PERCENTILES = (50, 95, 99)
NEAR_EMPTY_SHARE = 0.01  # of the chunks among the first hits, from which a run tells of them

# Given a run and the names of measures, its scores.
Score = Callable[[StoredRun, Sequence[str]], Scores]


def _show_total(latency: Mapping[str, Mapping[str, OpenEstimate]]) -> dict[str, float] | None:
    return _show_stages({"": latency[TOTAL]})[""] if latency else None


def _show_stages(latency: Mapping[str, Mapping[str, OpenEstimate]]) -> dict[str, dict[str, float]]:
    return {
        stage: {name: figure.value for name, figure in figures.items()}
        for stage, figures in latency.items()
        if stage != TOTAL
    }


def _show_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in facts.items() if key != "tokens"}


@in_json(
    "traffic",
    "answering",
    "cost",
    run="run.manifest.id",
    config="run.manifest.name",
    collection="run.manifest.collection.name",
    queries=length("run.queries"),
    sampled="run.manifest.sampled",
    claim="claims",
    queries_without_hits=length("run.without_hits"),
    measures=show_mean("means"),
    ir_measures=by(measures.list_standard, "means"),
    legs=keyed("legs", "leg"),
    judged_by_model=or_null("models"),
    unjudged=keyed("unjudged", "measure"),
    latency_ms=by(_show_total, "latency"),
    stages_ms=by(_show_stages, "latency"),
    cpu_ms="cpu",
    load=shape("run.manifest.load", ..., disturbed="is_busy"),
    throughput=shape("run.manifest", "concurrency", queries_per_second="throughput"),
    index=shape("run.manifest.index", ..., facts=by(_show_facts, "facts")),
    recall_against_exact=by(find_recalls, "run.manifest.facts"),
    degraded="run.manifest.degraded",
    rising_scores="run.manifest.rising_scores",
    retries="run.manifest.retries",
)
@dataclass(frozen=True)
class Summary:
    """The figures of one run, all computed from the stored run.

    `scores` is {measure: {query id: score}}; `latency` is {stage: {"p50": …, "p95": …, "p99": …}}
    in milliseconds, `total` first, and empty when none was measured.
    """

    run: StoredRun
    scores: Mapping[str, Mapping[str, float]]
    means: Mapping[str, Estimate]
    latency: Mapping[str, Mapping[str, OpenEstimate]]

    @cached_property
    def claims(self) -> Claims:
        """The claims that the queries support: intervals are those of the leading claim."""
        return Claims.of(self.run)

    @cached_property
    def by_type(self) -> Mapping[str, Mapping[str, Estimate]]:
        """Means per type of query, {type: {measure: mean}}; empty where queries have no types."""
        of_type: dict[str, list[str]] = {}
        for id_, query in self.run.queries.items():
            of_type.setdefault(query.type, []).append(id_)
        return {
            kind: estimate_means(
                {
                    name: {id_: found[id_] for id_ in of_type[kind]}
                    for name, found in self.scores.items()
                },
                self.claims,
            )
            for kind in sorted(of_type.keys() - {""})
        }

    @cached_property
    def attribution(self) -> Attribution:
        """The status of every gold item on its way to the first ten hits."""
        return attribute(self.run, known=self.scores)

    @cached_property
    def legs(self) -> tuple[LegAlone, ...]:
        """The scores of each leg alone in the headline measure, compared with their fusion."""
        return score_legs(self.run, measures.choose_headline(self.scores))

    @cached_property
    def answering(self) -> Abstention | None:
        """The results for queries without an answer; None if each query has one."""
        return examine_answering(self.run)

    @cached_property
    def answers(self) -> Answers | None:
        """The answers of a language model to the run's queries; None if there are none."""
        return examine_answers(self.run)

    @cached_property
    def cost(self) -> Cost | None:
        """The charges of services; None if no service that may charge was called."""
        return find_cost(self.run)

    @cached_property
    def cautions(self) -> tuple[str, ...]:
        """Sentences on parts of the pipeline that hold back its scores or its speed."""
        better = [item.words for item in self.legs if item.gain.value > 0]
        mixed = self.answering.caution if self.answering else ""
        manifest = self.run.manifest
        order = describe_order(manifest.rising_scores)
        cut = describe_cut(manifest.cut, len(self.run.queries))
        unread = describe_unread(manifest.index)
        lines = [order, unread, cut, mixed, self.absent, self.shallow, self.near_empty]
        return (*better, *filter(None, lines))

    @cached_property
    def shallow(self) -> str:
        """A sentence on measures that look deeper than rankings of one length; "" if none does."""
        return describe_shallow(self.run, list(self.scores))

    @cached_property
    def near_empty(self) -> str:
        """A sentence on near-empty chunks among the first ten hits; "" if there are none."""
        return describe_first(self.run)

    @cached_property
    def leaks(self) -> str:
        """A sentence that bounds the rate of leaks, though none was seen; "" without principals."""
        return describe_bound(self.run.queries, self.run.manifest.created[:10])

    @cached_property
    def absent(self) -> str:
        """A sentence on relevant documents that the collection lacks; "" if it has all."""
        return describe_absent(self.run.gold.values())

    @cached_property
    def models(self) -> str:
        """A sentence on the share of judgments by a language model; "" if there are none."""
        return describe_models(self.run.gold.values())

    @cached_property
    def cpu(self) -> Mapping[str, float]:
        """The median CPU milliseconds of a query by stage, of the stages of which it is known."""
        return {
            stage: median(times)
            for stage, times in collect_times(self.run.latency, cpu=True).items()
        }

    @property
    def disturbance(self) -> str:
        """A sentence on load by other processes while queries were timed; "" if it was low."""
        return describe_disturbance(self.run.manifest.load, "Run with --rerun")

    @property
    def unknown_load(self) -> str:
        """A sentence that the load of others is unknown, with the share of computing; else ""."""
        load = self.run.manifest.load
        if load is None or load.others is not None:
            return ""
        wall, cpu = (sum(collect_times(self.run.latency, cpu)[TOTAL]) for cpu in (False, True))
        return (
            "Whether other processes were working is not known on this system; CPU time was "
            f"{100 * cpu / wall:.0f} % of the time taken."
        )

    @cached_property
    def traffic(self) -> TrafficEstimates | None:
        """Estimates of the measures for the traffic that queries were sampled from, if any."""
        clusters = self.claims.cluster(self.run.queries)
        return estimate_traffic(self.run.queries, self.scores, clusters)

    @cached_property
    def unjudged(self) -> tuple[UnjudgedBounds, ...]:
        """The effect of unjudged hits on every measure: judged share, condensed score, bounds."""
        return examine(self.run, self.scores)


def summarise(
    run: StoredRun, names: Sequence[str] = measures.DEFAULT, score: Score = generated_answers.score
) -> Summary:
    """Compute the measures `names` of a stored run, by `score`, and its latencies."""
    return summarise_scores(run, score(run, names))


def summarise_scores(run: StoredRun, scores: Scores) -> Summary:
    """Return the figures of a stored run whose `scores` are known."""
    means = estimate_means(scores, Claims.of(run))
    samples = collect_times(run.latency)
    latency = {stage: estimate_percentiles(times) for stage, times in samples.items()}
    return Summary(run, scores, means, latency)


def describe_shallow(run: StoredRun, names: Sequence[str]) -> str:
    """Return a sentence if legs, or rankings of one length, end before the deepest measure.

    It is "" otherwise.
    """
    wanted = min(measures.find_reach(names), run.manifest.collection.documents)
    if legs := (run.manifest.config.get("retriever") or {}).get("legs"):
        longest, what = max(leg["depth"] for leg in legs.values()), "leg hands on"
    else:
        lengths = {len(hits) for hits in run.lists.hits if len(hits)}
        longest, what = lengths.pop() if len(lengths) == 1 else wanted, "ranking has"
    if longest >= wanted:
        return ""
    deepest = measures.find_deepest(names)
    return (
        f"No {what} more than {longest:,} hits, and {deepest} looks at "
        f"{measures.find_reach(names):,}: what would follow counts as not found"
    )


def describe_first(run: StoredRun, k: int = 10) -> str:
    """Return a sentence on near-empty chunks among the first `k` hits; "" for less than 1 in 100.

    Passages that the collection prescribes are no chunker's fault and do not count.
    """
    first = dict.fromkeys(number for hits in run.lists.hits for number in hits[:k])
    chunks = [run.lists.chunks[number] for number in first]
    found = [
        (chunk.doc_id, shorten(chunk))
        for chunk in chunks
        if chunk.id not in run.prescribed and is_near_empty(chunk)
    ]
    if len(found) < NEAR_EMPTY_SHARE * len(chunks):
        return ""
    return describe_near_empty(found, f"the {len(chunks):,} chunks among the first {k} hits")


def estimate_percentiles(times: Sequence[float]) -> dict[str, OpenEstimate]:
    """Return p50, p95 and p99 of milliseconds, each with its interval."""
    return {f"p{percent}": estimate_percentile(times, percent) for percent in PERCENTILES}


def explain_open(figures: Mapping[str, OpenEstimate], noun: str = "queries") -> str:
    """Return a sentence on percentiles, by name, without an upper bound; "" if all have one."""
    names = [name for name, figure in figures.items() if figure.high is None]
    if not names:
        return ""
    return f"{figures[names[0]].n} {noun} are too few to bound {enumerate_words(names)} from above"


RULE_OF_THREE = 3  # Hanley and Lippman-Hand, JAMA 1983: of n with none, at most 3/n at 95 %


def describe_bound(queries: Mapping[str, Query], day: str) -> str:
    """Return a sentence that bounds the rate of leaks if none was seen; "" without principals.

    `day` is the day of the run, whose permissions counted. Queries are counted, not hits: the hits
    of one query are not independent.
    """
    asked = sum(bool(query.principal) for query in queries.values())
    if not asked:
        return ""
    bound = min(1.0, RULE_OF_THREE / asked)
    return (
        f"No leak in {asked} queries with a principal, as of {day}: queries like them leak in at "
        f"most {bound:.1%} of cases (3/n, 95 %)."
    )
