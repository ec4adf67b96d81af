"""Trying candidates stage by stage, within the time and the latency that are allowed."""

import time
from collections.abc import Sequence

from assay.eval.collections.collection import Collection, Query
from assay.eval.configs.config import RunConfig
from assay.eval.running.point_order import take_in_order
from assay.eval.running.runner import Runner
from assay.eval.runs.execution.searching import index, search_plain
from assay.eval.statistics.significance import TIE
from assay.eval.studies.choice.candidates import (
    KEYWORD,
    MODE,
    SEMANTIC,
    Candidate,
    Configure,
    inspect,
    list_stages,
)
from assay.eval.studies.choice.choice import GIVEN, LEGS, Trial
from assay.retrievers.settings import Resources

TIMED = 5  # queries by which a candidate is held against the latency allowed, after one more
OF_BOTH = ("windows", "look-ups", "fusion")  # stages that need a dense and a keyword leg


class CandidateSearch:
    """Tries candidates on `queries`; `trials` has all of them, and `best` is the best so far.

    No candidate is begun after `seconds`, nor one whose texts must be embedded where that took
    longer before than is left. Without `max_latency`, in milliseconds, nothing is reranked.
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
        self.best = Trial(LEGS, (), {}, None)
        self._configure = configure
        self._runner = runner
        self._measure = measure
        self._max_latency = max_latency
        self._resources = resources
        self._end = time.monotonic() + seconds
        self._longest = 0.0  # seconds that a candidate with texts of its own took

    def run(self, collection: Collection, queries: Sequence[Query]) -> None:
        """Try the legs alone and together, then each stage on the best of the stages before."""
        for point, words in (({}, GIVEN), (KEYWORD, "BM25 alone"), (SEMANTIC, "dense alone")):
            self._try(LEGS, Candidate(point, words), collection, queries)
        config = self._configure({}).config
        text = inspect(config, collection.documents, self._resources)
        for stage, candidates in list_stages(text, self._max_latency is not None):
            before = self.best
            if stage in OF_BOTH and MODE in before.point:
                continue
            for item in candidates:
                self._try(stage, item.lay_on(before.point, before.steps), collection, queries)

    def _try(
        self, stage: str, item: Candidate, collection: Collection, queries: Sequence[Query]
    ) -> None:
        """Score a candidate, unless it costs more than is allowed."""
        begin = time.monotonic()
        task = self._configure(item.point)
        mean, refusal = None, "" if stage == LEGS else self._refuse(item, begin)
        if not refusal and stage == "reranking":
            refusal = self._refuse_slow(task.config, collection, queries)
        if not refusal:
            (scores,) = self._runner.score_first([task], queries, item.words)
            if scores is None:
                refusal = "could not be run"
            else:
                mean = sum(scores.values()) / len(scores)
        if item.embeds:
            self._longest = max(self._longest, time.monotonic() - begin)
        steps = item.steps if item.point else ()
        trial = Trial(stage, steps, item.point, mean, refusal)
        self.trials.append(trial)
        if mean is not None and (self.best.mean is None or mean > self.best.mean + TIE):
            self.best = trial

    def _refuse(self, item: Candidate, now: float) -> str:
        left = self._end - now
        over = left <= 0 or (item.embeds and self._longest > left)
        return "not tried: the budget was used up" if over else ""

    def _refuse_slow(
        self, config: RunConfig, collection: Collection, queries: Sequence[Query]
    ) -> str:
        """Say that a pipeline takes longer than is allowed, by the median of a few queries."""
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
