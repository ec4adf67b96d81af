"""The search through the candidates of `assay choose`, stage by stage on the best so far."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from assay.eval.collections.collection import Collection, Query
from assay.eval.configs.config import RunConfig
from assay.eval.running.point_order import take_in_order
from assay.eval.running.runner import Runner
from assay.eval.running.search_space import Point
from assay.eval.runs.execution.searching import index, search_plain
from assay.eval.runs.summary.means import estimate_scores
from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.significance import TIE
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
    lay,
    list_stages,
    merge,
    name_texts,
)
from assay.eval.studies.tuning.choice import LEGS, Trial
from assay.retrievers.settings import Resources

TIMED = 5  # queries that check a candidate against the allowed latency, after a warm-up query


@dataclass(frozen=True)
class SplitCollection:
    """A collection with questions to choose by, and others to judge the choice by.

    Attributes:
        base: The config as given, on this collection.
        configure: Returns a candidate's task on it.
        collection: The collection.
        first: The questions to choose by.
        held: Those to judge by; none if there are too few.
        grouped_by: The property by which questions were kept together in one half.

    """

    base: RunConfig
    configure: Configure
    collection: Collection
    first: Sequence[Query]
    held: Sequence[Query]
    grouped_by: str


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
        splits: Sequence[SplitCollection],
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
        self._splits = splits
        self._runner = runner
        self._measure = measure
        self._max_latency = max_latency
        self._resources = resources
        self._end = time.monotonic() + seconds
        self._embedded: set[str] = set()  # names of the texts whose embeddings are in the cache
        self._longest = 0.0  # longest time of a candidate that embeds or reranks, in seconds

    def run(self, text: TextFacts) -> None:
        """Try the legs alone and together, then each stage on the best so far.

        All stages but reranking are then repeated, because the gain of one may depend on the
        others.
        """
        alone = ((KEYWORD, "BM25 alone"), (SEMANTIC, "dense alone"))
        legs: list[Layers] = [{}, *({LEGS: Candidate(point, words)} for point, words in alone)]
        self._try(LEGS, legs)
        *stages, last = list_stages(text, self._max_latency is not None)
        again = [(f"{stage} again", candidates) for stage, candidates in stages]
        for shown, candidates in (*stages, *again, last):
            stage = shown.removesuffix(" again")
            bases = [self._together]
            if MODE in self.best.point and stage not in OF_BOTH:
                bases.append(self._leading)
            listed = [lay(on, stage, item) for item in candidates for on in bases]
            self._try(shown, listed)

    def _try(self, stage: str, listed: Sequence[Layers]) -> None:
        """Score candidates, except those tried before and those that exceed the budget.

        Candidates without embedding or reranking share one search of each leg.
        """
        known = [item.point for item in self.trials]
        waiting: list[Layers] = []
        for layers in listed:
            point = merge(layers)
            if point in known:
                continue
            known.append(point)
            begin = time.monotonic()
            refusal = "" if stage == LEGS else self._refuse(stage, point)
            if refusal:
                self._score(stage, waiting)
                waiting = []
                self._add(Trial(stage, _name(layers), point, None, refusal), layers)
                continue
            waiting.append(layers)
            if self._embeds(point) or stage == RERANKING:
                self._score(stage, waiting)
                waiting = []
                self._longest = max(self._longest, time.monotonic() - begin)
        self._score(stage, waiting)

    def _score(self, stage: str, waiting: Sequence[Layers]) -> None:
        """Score candidates on their shared legs and chunks."""
        if not waiting:
            return
        points = [merge(layers) for layers in waiting]
        found: list[list[Estimate]] = [[] for _ in points]
        for split in self._splits:
            tasks = [split.configure(point) for point in points]
            scored = self._runner.score_first(tasks, split.first, stage)
            for means, scores in zip(found, scored, strict=True):
                if scores is not None:
                    means.append(estimate_scores(self._measure, scores.values()))
        for layers, point, means in zip(waiting, points, found, strict=True):
            ran = len(means) == len(self._splits)
            refusal = "" if ran else "could not be run"
            mean = average(means) if ran else None
            self._add(Trial(stage, _name(layers), point, mean, refusal), layers)

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

    def _refuse(self, stage: str, point: Point) -> str:
        """Return the reason why a candidate is not tried; "" if it is."""
        left, reranks = self._end - time.monotonic(), stage == RERANKING
        anew = self._embeds(point)
        if ((anew or reranks) and left <= 0) or (anew and left < self._longest):
            return "not tried: the budget was used up"
        refusals = (self._refuse_slow(split, point) for split in self._splits if reranks)
        return next(filter(None, refusals), "")

    def _refuse_slow(self, split: SplitCollection, point: Point) -> str:
        """Return a reason if the median of a few queries exceeds the allowed latency, else ""."""
        assert self._max_latency is not None
        taken = []
        config = split.configure(point).config
        for _, variants in take_in_order([config], self._resources):
            with variants.build(config) as retriever:
                index(retriever, split.collection)
                for query in split.first[: TIMED + 1]:
                    begin = time.perf_counter()
                    search_plain(retriever, split.collection, query, config.depth, {})
                    taken.append((time.perf_counter() - begin) * 1000)
        median = sorted(taken[1:])[len(taken[1:]) // 2]
        over = median > self._max_latency
        return f"takes {median:.0f} ms a query; {self._max_latency:g} are allowed" if over else ""


def average(means: Sequence[Estimate]) -> Estimate:
    """Return the mean of the means of independent samples, each of the same weight.

    Its interval is as long as theirs let it be (Zou and Donner, "Construction of confidence limits
    about effect measures", Statistics in Medicine 2008).
    """
    if len(means) == 1:
        return means[0]
    value, parts = fmean(item.value for item in means), len(means)
    below = math.hypot(*(item.value - item.low for item in means)) / parts
    above = math.hypot(*(item.high - item.value for item in means)) / parts
    return Estimate(value, value - below, value + above, sum(item.n for item in means))


def _name(layers: Layers) -> tuple[str, ...]:
    return tuple(item.words for item in layers.values())


def _leads(trial: Trial, best: Trial) -> bool:
    if trial.mean is None:
        return False
    return best.mean is None or trial.mean.value > best.mean.value + TIE
