"""What a parent command shows of a run: computed once, then found again without reading the run."""

import gc
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from assay.eval.collections.collection import Collection, Query
from assay.eval.running.figures import Figures
from assay.eval.runs import environment, generated_answers
from assay.eval.runs.execution.execution import (
    WORDS,
    Ready,
    RunSpec,
    find_finished,
    make_ready,
)
from assay.eval.runs.execution.unstored import score_queries, search_unstored
from assay.eval.runs.manifest import MANIFEST
from assay.eval.runs.stored import load
from assay.eval.runs.summary.summary import Score, Summary, summarise
from assay.eval.scoring.kinds import LISTED
from assay.eval.scoring.measures import find
from assay.eval.tracking.record import Record, describe
from assay.retrievers.base import Chunk, Retriever
from assay.retrievers.pipeline.pipeline import REVISION as RANKING_REVISION
from assay.retrievers.store.cache import Cache
from assay.retrievers.store.digest import digest, digest_file

KIND = "figures"
RACED = "raced_scores"
SECONDS = "point_seconds"
REVISION = 1  # raise it when a ranking comes to be summarised otherwise


@dataclass(frozen=True)
class PointFigures:
    """The figures of a run, and what MLflow is told of it."""

    figures: Figures
    record: Record


class FiguresCache:
    """Finds what is shown of runs in the measures `names`, or lets `score` compute it and keeps it.

    Nothing is kept where a measure is somebody's own, whose code may change unseen. `validated` are
    chunks known to be so, which the retrievers may share.
    """

    def __init__(
        self,
        names: Sequence[str],
        cache: Cache,
        score: Score = generated_answers.score,
        validated: dict[int, Chunk] | None = None,
    ) -> None:
        self._names = names
        self._cache = cache
        self._score = score
        self._validated = {} if validated is None else validated
        self._keeps = all(isinstance(find(name), LISTED) for name in names)

    def show(self, folder: Path) -> PointFigures:
        """Return what is shown of the stored run in `folder`; it is kept by the run's manifest."""
        shown = self._find(
            digest_file(folder / MANIFEST), lambda: _show(summarise(load(folder), self._names))
        )
        return replace(shown, record=replace(shown.record, folder=folder))

    def keep(self, summary: Summary) -> PointFigures:
        """Return what is shown of a stored run that was summarised in these measures."""
        return self._find(digest_file(summary.run.folder / MANIFEST), lambda: _show(summary))

    def score(
        self,
        plan: RunSpec,
        retriever: Retriever,
        collection: Collection,
        reports: Path,
        provenance: Mapping[str, Any],
    ) -> PointFigures:
        """Return what is shown of a run, stored in `reports` or not; it is kept by its identity."""
        ready = make_ready(plan, retriever, collection)
        if stored := find_finished(ready, retriever, reports):
            return self.show(stored)

        def make() -> PointFigures:
            begin = time.perf_counter()
            with _uncollected():
                shown = search()
            note_seconds(self._cache, plan, collection, time.perf_counter() - begin)
            return PointFigures(replace(shown.figures, run=""), replace(shown.record, folder=None))

        def search() -> PointFigures:
            """Search, and forget the run before garbage is looked for again."""
            run = search_unstored(plan, retriever, collection, ready, provenance, self._validated)
            return _show(summarise(run, self._names, self._score))

        return make() if retriever.nondeterministic else self._find(name_ranking(ready), make)

    def score_first(
        self,
        plan: RunSpec,
        retriever: Retriever,
        collection: Collection,
        queries: Sequence[Query],
        measure: str,
    ) -> dict[str, float]:
        """Return the scores of some queries by id, of a run that is not made; they are kept apart.

        Raises AssayError as `score_queries` does.
        """
        ready = make_ready(plan, retriever, collection)
        if not retriever.nondeterministic and (known := self._find_kept(name_ranking(ready))):
            return {query.id: known.figures.scores[measure][query.id] for query in queries}
        ids = [query.id for query in queries]
        key = digest(name_ranking(ready), measure, ids, REVISION)
        if self._keeps and (kept := self._cache.get_many(RACED, [key]).get(key)):
            return dict(zip(ids, json.loads(kept), strict=True))
        found = score_queries(retriever, collection, queries, measure, plan.depth, self._validated)
        if self._keeps and not retriever.nondeterministic:
            values = [found[id_] for id_ in ids]
            self._cache.put_many(RACED, {key: json.dumps(values).encode()})
        return dict(found)

    def _find_kept(self, of: str) -> PointFigures | None:
        key = self._key(of)
        kept = self._cache.get_many(KIND, [key]).get(key) if self._keeps else None
        return _shown().validate_python(json.loads(kept)) if kept else None

    def _key(self, of: str) -> str:
        return digest(of, list(self._names), REVISION)

    def _find(self, of: str, make: Callable[[], PointFigures]) -> PointFigures:
        if kept := self._find_kept(of):
            return kept
        shown = make()
        if self._keeps and not shown.figures.degraded:  # what failed may work by now
            self._cache.put_many(KIND, {self._key(of): json.dumps(shown, default=_tell).encode()})
        return shown


@contextmanager
def _uncollected() -> Iterator[None]:
    """Let Python look for no circles of garbage in the block, which makes objects without them."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _show(summary: Summary) -> PointFigures:
    return PointFigures(Figures.of(summary), describe(summary, attributed=False))


def name_ranking(ready: Ready) -> str:
    """Return the digest of all that the rankings of a run are a function of."""
    return digest(ready.subject, RANKING_REVISION)


def note_seconds(cache: Cache, plan: RunSpec, collection: Collection, seconds: float) -> None:
    """Keep what finishing a point took, so that others can be foretold."""
    cache.put_many(SECONDS, {name_point(plan.config, collection): str(seconds).encode()})


def name_point(config: Mapping[str, Any], collection: Collection) -> str:
    """Return what tells a point from others, as far as that is known before it is indexed."""
    settings = {key: value for key, value in config.items() if key not in WORDS}
    code = (RANKING_REVISION, REVISION)
    return digest(settings, collection.digest, code, environment.packages())


def _tell(value: object) -> Any:
    """Return a value as JSON has it; fields are not copied, as `asdict` would."""
    if is_dataclass(value):
        return {item.name: getattr(value, item.name) for item in fields(value)}
    return str(value)


@cache
def _shown() -> "TypeAdapter[PointFigures]":
    return TypeAdapter(PointFigures)
