"""Choose a pipeline for a collection, and judge it on queries that had no part in the choice.

Settings are chosen on one half of the queries. The best is compared with the config as given and
with BM25 alone on the other half, where its lead is not inflated by the choice. Queries that share
a document stay in one half, as long as the halves stay even enough.
"""

import time
from collections.abc import Sequence

from assay.eval.collections.collection import Collection, Query
from assay.eval.collections.loading import load
from assay.eval.configs.config import RunConfig, load_config
from assay.eval.configs.locations import reports_folder
from assay.eval.report.files import BESIDE
from assay.eval.running.figures import Figures
from assay.eval.running.point_order import take_in_order
from assay.eval.running.result_files import check_place
from assay.eval.running.runner import PointTask, Runner
from assay.eval.running.search_space import Point, as_overrides
from assay.eval.runs import environment
from assay.eval.runs.execution.searching import index, sample, search_plain
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.means import estimate_scores
from assay.eval.runs.summary.returned_tokens import TOKENS, WITHIN
from assay.eval.scoring.measures import HEADLINE, check_rising
from assay.eval.statistics.estimates import SEED
from assay.eval.statistics.groups import Clusters
from assay.eval.statistics.significance import TIE
from assay.eval.studies.comparison.differences import Contrast, judge_claims
from assay.eval.studies.comparison.query_groups import group
from assay.eval.studies.tuning.candidates import (
    KEYWORD,
    MODE,
    OF_BOTH,
    RERANKING,
    SEMANTIC,
    Candidate,
    Configure,
    Layers,
    TextFacts,
    embeds,
    inspect,
    lay,
    list_stages,
    merge,
    name_texts,
)
from assay.eval.studies.tuning.choice import (
    FEWEST,
    LEGS,
    Choice,
    JudgedPipeline,
    Trial,
    describe_few,
)
from assay.eval.studies.tuning.choice_options import ChoiceOptions
from assay.eval.studies.tuning.forecast import describe_work, time_searches
from assay.eval.studies.tuning.nested_cv import Design, deal, number_groups
from assay.retrievers.base import AssayError
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest

LEAST = 1 / 3  # smallest share of the queries in either half


def choose(asked: ChoiceOptions, resources: Resources) -> Choice:
    """Try candidates on one half of the queries, and judge the best of them on the other.

    Raises AssayError if the config has no dense and BM25 leg, or the collection no query, and
    before any work if `output` is a different file.
    """
    measure = check_rising(asked.measure or HEADLINE)
    question = digest("choose", asked.config, asked.changes, asked.measure)
    if asked.output and not asked.force:
        check_place(asked.output, question, BESIDE)
    base = load_config(asked.config, asked.changes)
    _check_base(base)
    collection = load(base.dataset, resources.progress)
    queries = sample(collection.queries, base.limit)
    if not queries:
        raise AssayError(
            f"{base.dataset}: has no judged question, so nothing can be chosen; write some with "
            "`assay questions`, or add yours with `assay init`"
        )
    first, held, grouped_by = split_queries(queries, collection)
    if not held:
        resources.progress.say(describe_few(len(queries)))
    values = base.model_dump(mode="json")

    def configure(point: Point) -> PointTask:
        changes = as_overrides(point, values)
        return PointTask(point, load_config(asked.config, [*asked.changes, *changes]))

    runner = Runner(measure, resources, reports_folder(), stored=False)
    search = CandidateSearch(configure, runner, measure, asked.budget, asked.max_latency, resources)
    text = inspect(base, collection.documents, resources)
    stages = list_stages(text, rerank=False)
    listed = [merge({stage: item}) for stage, tried in stages for item in tried]
    configs = [configure(point).config for point in listed]
    seconds = time_searches(base, configs, collection, first, resources)
    told = describe_work(configs, collection, resources, base, seconds, "candidate")
    without = "reranking and repeats" if asked.max_latency is not None else "repeats"
    resources.progress.say(
        f"{told}, excluding {without}; embeds for no further one after {asked.budget:,.0f} s"
    )
    search.run(collection, first, text)
    if search.best.mean is None:
        raise AssayError(f"{base.name} on {base.dataset}: {search.trials[0].left_out}")
    points = {"best": search.best.point, "base": {}, "bm25": KEYWORD}
    ran = _run_all(points, configure, runner)
    ids = [query.id for query in held or first]
    scores = {
        name: {id_: figures.scores[measure][id_] for id_ in ids} for name, figures in ran.items()
    }
    contrasts = {
        name: Contrast(measure, "", scores[name], scores["best"])
        for name in ("base", "bm25")
        if points[name] != search.best.point and held
    }
    claims = Claims.of_collection(collection, queries)
    if held:
        claims = claims.hold_out(ids, bound=grouped_by == "text")
    judged = judge_claims(list(contrasts.values()), claims) if contrasts else []
    return Choice(
        config=base,
        chosen=configure(search.best.point).config,
        measure=measure,
        trials=tuple(search.trials),
        best=search.best,
        chosen_on=len(first),
        judged=len(held),
        grouped_by=grouped_by,
        pipelines={
            name: _judge(figures, measure, ids, claims.cluster(ids))
            for name, figures in ran.items()
        },
        differences={name: item.leading for name, item in zip(contrasts, judged, strict=True)},
        opposite={name: item.opposite for name, item in zip(contrasts, judged, strict=True)},
        claims=claims,
        asked=question,
        environment=environment.describe(),
    )


def split_queries(
    queries: Sequence[Query], collection: Collection, seed: int = SEED
) -> tuple[list[Query], list[Query], str]:
    """Return the queries to choose by, those to judge by, and the kind of groups kept together.

    The halves are alike in types of query. Queries that share a document stay together, unless that
    leaves less than a third for a half; then queries with the same main document stay together, or
    only those of the same words. With fewer than 30 queries, all are to choose by.
    """
    if len(queries) < FEWEST:
        return list(queries), [], ""
    found: tuple[list[Query], list[Query]] = ([], [])
    for by in ("document", "group", "text"):
        groups = number_groups(group(queries, collection, by))
        design = Design(folds=2, repeats=1, seed=seed)
        folds = deal([query.type for query in queries], groups, design)[0]
        found = ([], [])
        for query, fold in zip(queries, folds, strict=True):
            found[fold].append(query)
        if min(map(len, found)) >= len(queries) * LEAST:
            break
    return *found, by


def _check_base(config: RunConfig) -> None:
    """Raise AssayError unless the candidates apply to a config."""
    retriever = config.retriever
    legs = retriever.legs if isinstance(retriever, PipelineSettings) else {}
    found = {name: leg.type for name, leg in legs.items()}
    if found.get("dense") != "dense" or found.get("keyword") != "bm25":
        raise AssayError(
            f"{config.name}: retriever.legs: `assay choose` starts from a leg `dense` of type "
            "dense and a leg `keyword` of type bm25, as `hybrid` has; for other pipelines there "
            "is `assay tune`"
        )


def _run_all(points: dict[str, Point], configure: Configure, runner: Runner) -> dict[str, Figures]:
    """Return the figures of each named point, all timed interleaved."""
    distinct: list[Point] = []
    for point in points.values():
        if point not in distinct:
            distinct.append(point)
    tasks = [configure(point) for point in distinct]
    ran = runner.time(tasks, runner.run(tasks), reports_folder() / "chosen")
    found = {}
    for name, point in points.items():
        place = distinct.index(point)
        figures = ran[place].result.figures
        if figures is None:
            raise AssayError(f"{tasks[place].label}: {ran[place].result.failure}")
        found[name] = figures
    return found


def _judge(
    figures: Figures, measure: str, asked: Sequence[str], clusters: Clusters | None
) -> JudgedPipeline:
    """Return a pipeline with its means over the queries `asked`, including lengths of texts."""
    means = {
        name: estimate_scores(name, [figures.scores[name][id_] for id_ in asked], clusters)
        for name in dict.fromkeys((measure, TOKENS, WITHIN))
        if name in figures.scores
    }
    return JudgedPipeline(means, figures.latency)


TIMED = 5  # queries that check a candidate against the allowed latency, after a warm-up query


class CandidateSearch:
    """A search through the candidates; `trials` has all of them, and `best` is the best so far.

    If a single leg leads, each stage is also tried on the best of both legs, which may overtake it
    with another context or weight.

    After `seconds` no candidate that reranks or embeds texts is begun. A candidate that embeds is
    also skipped if an earlier one took longer than the time left. Candidates that do neither are
    always tried. Without `max_latency`, in milliseconds, nothing is reranked.
    """

    def __init__(
        self,
        configure: Configure,
        runner: Runner,
        measure: str,
        seconds: float,
        max_latency: float | None,
        resources: Resources,
    ) -> None:
        self.trials: list[Trial] = []
        self.best = self._best_together = Trial(LEGS, (), {}, None)
        self._leading: Layers = {}
        self._together: Layers = {}
        self._configure = configure
        self._runner = runner
        self._measure = measure
        self._max_latency = max_latency
        self._resources = resources
        self._end = time.monotonic() + seconds
        self._embedded: set[str] = set()  # names of the texts whose embeddings are in the cache
        self._longest = 0.0  # longest time of a candidate that embeds or reranks, in seconds

    def run(self, collection: Collection, queries: Sequence[Query], text: TextFacts) -> None:
        """Try the legs alone and together, then each stage on the best so far.

        All stages but reranking are then repeated, because the gain of one may depend on the
        others.
        """
        alone = ((KEYWORD, "BM25 alone"), (SEMANTIC, "dense alone"))
        legs: list[Layers] = [{}, *({LEGS: Candidate(point, words)} for point, words in alone)]
        self._try(LEGS, legs, collection, queries)
        *stages, last = list_stages(text, self._max_latency is not None)
        again = [(f"{stage} again", candidates) for stage, candidates in stages]
        for shown, candidates in (*stages, *again, last):
            stage = shown.removesuffix(" again")
            bases = [self._together]
            if MODE in self.best.point and stage not in OF_BOTH:
                bases.append(self._leading)
            listed = [lay(on, stage, item) for item in candidates for on in bases]
            self._try(shown, listed, collection, queries)

    def _try(
        self, stage: str, listed: Sequence[Layers], collection: Collection, queries: Sequence[Query]
    ) -> None:
        """Score candidates, except those tried before and those that exceed the budget.

        Candidates without embedding or reranking share one search of each leg.
        """
        known = [item.point for item in self.trials]
        waiting: list[tuple[Layers, PointTask]] = []
        for layers in listed:
            point = merge(layers)
            if point in known:
                continue
            known.append(point)
            task, begin = self._configure(point), time.monotonic()
            refusal = "" if stage == LEGS else self._refuse(stage, task, collection, queries)
            if refusal:
                self._score(stage, waiting, queries)
                waiting = []
                self._add(Trial(stage, _name(layers), point, None, refusal), layers)
                continue
            waiting.append((layers, task))
            if self._embeds(point) or stage == RERANKING:
                self._score(stage, waiting, queries)
                waiting = []
                self._longest = max(self._longest, time.monotonic() - begin)
        self._score(stage, waiting, queries)

    def _score(
        self, stage: str, waiting: Sequence[tuple[Layers, PointTask]], queries: Sequence[Query]
    ) -> None:
        """Score candidates on their shared legs and chunks."""
        tasks = [task for _, task in waiting]
        found = self._runner.score_first(tasks, queries, stage) if tasks else []
        for (layers, task), scores in zip(waiting, found, strict=True):
            mean = None if scores is None else estimate_scores(self._measure, scores.values())
            refusal = "could not be run" if scores is None else ""
            self._add(Trial(stage, _name(layers), task.point, mean, refusal), layers)

    def _add(self, trial: Trial, layers: Layers) -> None:
        self.trials.append(trial)
        if trial.mean is not None and embeds(trial.point):
            self._embedded.add(name_texts(trial.point))
        if _leads(trial, self.best):
            self.best, self._leading = trial, layers
        if MODE not in trial.point and _leads(trial, self._best_together):
            self._best_together, self._together = trial, layers

    def _embeds(self, point: Point) -> bool:
        """Return True if a candidate needs embeddings that no earlier candidate has made."""
        return embeds(point) and name_texts(point) not in self._embedded

    def _refuse(
        self, stage: str, task: PointTask, collection: Collection, queries: Sequence[Query]
    ) -> str:
        """Return the reason why a candidate is not tried; "" if it is."""
        left, reranks = self._end - time.monotonic(), stage == RERANKING
        anew = self._embeds(task.point)
        if ((anew or reranks) and left <= 0) or (anew and left < self._longest):
            return "not tried: the budget was used up"
        return self._refuse_slow(task.config, collection, queries) if reranks else ""

    def _refuse_slow(
        self, config: RunConfig, collection: Collection, queries: Sequence[Query]
    ) -> str:
        """Return a reason if the median of a few queries exceeds the allowed latency, else ""."""
        assert self._max_latency is not None
        taken = []
        for _, variants in take_in_order([config], self._resources):
            with variants.build(config) as retriever:
                index(retriever, collection)
                for query in queries[: TIMED + 1]:
                    begin = time.perf_counter()
                    search_plain(retriever, collection, query, config.depth, {})
                    taken.append((time.perf_counter() - begin) * 1000)
        median = sorted(taken[1:])[len(taken[1:]) // 2]
        over = median > self._max_latency
        return f"takes {median:.0f} ms a query; {self._max_latency:g} are allowed" if over else ""


def _name(layers: Layers) -> tuple[str, ...]:
    return tuple(item.words for item in layers.values())


def _leads(trial: Trial, best: Trial) -> bool:
    if trial.mean is None:
        return False
    return best.mean is None or trial.mean.value > best.mean.value + TIE
