"""Figures of a run that a parent command shows: computed once, then read from the cache."""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.eval.collections.collection import Collection, Query
from assay.eval.running.figures import Figures
from assay.eval.running.run_memo import Memo, of_ranking, of_stored
from assay.eval.runs import generated_answers
from assay.eval.runs.execution.execution import RunSpec, find_finished, make_ready
from assay.eval.runs.execution.unstored import score_queries, search_unstored
from assay.eval.runs.stored import load
from assay.eval.runs.summary.summary import Score, Summary, summarise
from assay.eval.scoring.kinds import LISTED
from assay.eval.scoring.measures import find
from assay.eval.tracking.record import Record, describe
from assay.retrievers.base import Chunk, Retriever
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.digest import digest


@dataclass(frozen=True)
class PointFigures:
    """The figures of a run, and its record for MLflow."""

    figures: Figures
    record: Record


class FiguresCache:
    """A cache of the figures of runs in the measures `names`, which `score` computes if missing.

    Nothing is cached if a measure is a user's own, whose code may change unnoticed. `validated` are
    chunks known to be valid, which the retrievers may share.
    """

    def __init__(
        self,
        names: Sequence[str],
        cache: Cache,
        score: Score = generated_answers.score,
        validated: dict[int, Chunk] | None = None,
    ) -> None:
        self._names = names
        self._score = score
        self._validated = {} if validated is None else validated
        self._name = f"figures in {', '.join(names)}"
        self._kept_in = cache if all(isinstance(find(name), LISTED) for name in names) else None

    def show(self, folder: Path) -> PointFigures:
        """Return the figures of the stored run in `folder`."""
        shown = self._find(of_stored(folder), lambda: _show(summarise(load(folder), self._names)))
        return replace(shown, record=replace(shown.record, folder=folder))

    def keep(self, summary: Summary) -> PointFigures:
        """Return the figures of a stored run that was summarised in these measures."""
        return self._find(of_stored(summary.run.folder), lambda: _show(summary))

    def score(
        self,
        plan: RunSpec,
        retriever: Retriever,
        collection: Collection,
        reports: Path,
        provenance: Mapping[str, Any],
    ) -> PointFigures:
        """Return the figures of a run, stored in `reports` or not; cached by its identity."""
        ready = make_ready(plan, retriever, collection)
        if stored := find_finished(ready, retriever, reports):
            return self.show(stored)

        def make() -> PointFigures:
            with _uncollected():
                shown = search()
            return PointFigures(replace(shown.figures, run=""), replace(shown.record, folder=None))

        def search() -> PointFigures:
            """Search, and forget the run before garbage is looked for again."""
            run = search_unstored(plan, retriever, collection, ready, provenance, self._validated)
            return _show(summarise(run, self._names, self._score))

        return make() if retriever.nondeterministic else self._find(of_ranking(ready), make)

    def score_first(
        self,
        plan: RunSpec,
        retriever: Retriever,
        collection: Collection,
        queries: Sequence[Query],
        measure: str,
    ) -> dict[str, float]:
        """Return the scores of some queries by id, without making a run; they have their own cache.

        Raises AssayError as `score_queries` does.
        """
        ready = make_ready(plan, retriever, collection)
        memo = Memo(of_ranking(ready), None if retriever.nondeterministic else self._kept_in)
        ids = [query.id for query in queries]
        if known := memo.recall_value(self._name, PointFigures):
            return {id_: known.figures.scores[measure][id_] for id_ in ids}

        def make() -> list[float]:
            depth = plan.depth
            found = score_queries(retriever, collection, queries, measure, depth, self._validated)
            return [found[id_] for id_ in ids]

        scores = memo.find(f"{measure} of {digest(ids)}", list[float], make)
        return dict(zip(ids, scores, strict=True))

    def _find(self, of: str, make: Callable[[], PointFigures]) -> PointFigures:
        def is_whole(shown: PointFigures) -> bool:
            return not shown.figures.degraded  # what failed may work by now

        return Memo(of, self._kept_in).find(self._name, PointFigures, make, is_whole)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Disable cyclic garbage collection in the block, which makes objects without cycles."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _show(summary: Summary) -> PointFigures:
    return PointFigures(Figures.of(summary), describe(summary, tabled=False))
