"""Figures of stored runs, computed once: found again by all that they are computed from."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property

from pydantic import TypeAdapter

from assay.eval.collections.collection import GoldItem
from assay.eval.runs import environment, generated_answers
from assay.eval.runs.manifest import MANIFEST
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.attribution import Attribution, ItemStatus, attribute
from assay.eval.runs.summary.ceilings import Ceiling
from assay.eval.runs.summary.cost import Cost, find_cost
from assay.eval.runs.summary.legs_alone import LegAlone, score_legs
from assay.eval.runs.summary.summary import (
    Summary,
    describe_shallow,
    summarise,
    summarise_scores,
)
from assay.eval.runs.summary.unjudged import UnjudgedBounds, examine
from assay.eval.scoring.calculation import ByQuery, Scores
from assay.eval.scoring.generated import AnswerMeasure
from assay.eval.scoring.kinds import LISTED
from assay.eval.scoring.measures import choose_headline, find
from assay.eval.statistics.estimates import Estimate
from assay.retrievers.base import AssayError, T
from assay.retrievers.store.cache import Cache, default_root
from assay.retrievers.store.digest import digest, digest_file

REVISION = 1  # raise it when a stored run comes to be summarised otherwise
KIND = "scores"


@dataclass(frozen=True)
class CachedSummary(Summary):
    """A summary of which what takes long is kept."""

    kept: "SummaryCache"

    @cached_property
    def attribution(self) -> Attribution:  # noqa: D102
        def find() -> _Statuses:
            return _shorten(attribute(self.run, known=self.scores))

        return _lengthen(self.kept.find("attribution", _statuses(), find), self.run)

    @cached_property
    def legs(self) -> tuple[LegAlone, ...]:  # noqa: D102
        measure = choose_headline(self.scores)
        return self.kept.find(f"legs by {measure}", _legs(), lambda: score_legs(self.run, measure))

    @cached_property
    def unjudged(self) -> tuple[UnjudgedBounds, ...]:  # noqa: D102
        def find() -> tuple[UnjudgedBounds, ...]:
            return examine(self.run, self.scores)

        if not all(map(_is_ours, self.scores)):
            return find()
        return self.kept.find(f"unjudged in {', '.join(self.scores)}", _unjudged(), find)

    @cached_property
    def shallow(self) -> str:  # noqa: D102
        names = list(self.scores)
        return self.kept.find(
            f"shallow in {', '.join(names)}", _words(), lambda: describe_shallow(self.run, names)
        )

    @cached_property
    def cost(self) -> Cost | None:  # noqa: D102
        return self.kept.find("cost", _cost(), lambda: find_cost(self.run))


class SummaryCache:
    """What was computed of a run, by the digest of its files, its queries and the code."""

    def __init__(self, run: StoredRun, cache: Cache) -> None:
        files = sorted([run.folder / MANIFEST, *run.folder.glob("*.jsonl")])
        read = [(path.name, digest_file(path)) for path in files]
        self._of = digest(read, list(run.queries), _digest_code())
        self._cache = cache

    def find_scores(self, run: StoredRun, names: Sequence[str]) -> Scores:
        """Return {measure: {query id: score}}, as `assay.eval.runs.generated_answers.score` does.

        Those of a measure that is somebody's own, whose code may change unseen, are not kept.
        """
        wanted = list(dict.fromkeys(find(name).name for name in names))
        keys = {name: self._key(name) for name in wanted if _is_ours(name)}
        stored = self._cache.get_many(KIND, keys.values())
        found = {
            name: dict(zip(run.queries, json.loads(stored[key]), strict=True))
            for name, key in keys.items()
            if key in stored
        }
        missing = [name for name in wanted if name not in found]
        found |= generated_answers.score(run, missing)
        fresh = {keys[name]: _encode(found[name], run) for name in missing if name in keys}
        self._put(fresh)
        return {name: found[name] for name in wanted}

    def find(self, what: str, adapter: "TypeAdapter[T]", make: Callable[[], T]) -> T:
        """Return what is kept by the name `what`, or make it and keep it."""
        key = self._key(what)
        if stored := self._cache.get_many(KIND, [key]).get(key):
            return adapter.validate_json(stored)
        made = make()
        self._put({key: adapter.dump_json(made)})
        return made

    def _put(self, items: Mapping[str, bytes]) -> None:
        with suppress(AssayError):  # where nothing can be written, it is computed each time
            self._cache.put_many(KIND, items)

    def _key(self, what: str) -> str:
        return digest(self._of, what)


def summarise_cached(run: StoredRun, names: Sequence[str]) -> Summary:
    """As `assay.eval.runs.summary.summary.summarise`, of a run as its folder holds it."""
    try:
        kept = SummaryCache(run, Cache(default_root()))
    except AssayError:  # a folder for it cannot be made
        return summarise(run, names)
    summary = summarise_scores(run, kept.find_scores(run, names))
    return CachedSummary(run, summary.scores, summary.means, summary.latency, kept)


def _is_ours(name: str) -> bool:
    return isinstance(find(name), (*LISTED, AnswerMeasure))


def _encode(scores: ByQuery, run: StoredRun) -> bytes:
    return json.dumps([scores[query] for query in run.queries]).encode()


@dataclass(frozen=True)
class _Statuses:
    """An attribution without its gold items, of which those of each query stand in their order."""

    k: int
    steps: tuple[str, ...]
    items: Mapping[str, list[tuple[str, str, dict[str, int | None], dict[str, int]]]]
    ceilings: tuple[Ceiling, ...]
    reached: dict[str, Estimate]


def _shorten(found: Attribution) -> _Statuses:
    items = {
        query: [(item.status, item.where, dict(item.ranks), dict(item.deeper)) for item in statuses]
        for query, statuses in found.items.items()
    }
    return _Statuses(found.k, found.steps, items, found.ceilings, dict(found.reached))


def _lengthen(found: _Statuses, run: StoredRun) -> Attribution:
    items = {
        query: tuple(
            ItemStatus(item, *status)
            for item, status in zip(_list_relevant(run.gold[query]), statuses, strict=True)
        )
        for query, statuses in found.items.items()
    }
    types = {query.id: query.type for query in run.queries.values()}
    return Attribution(found.k, found.steps, items, found.ceilings, found.reached, types)


def _list_relevant(gold: Sequence[GoldItem]) -> list[GoldItem]:
    return [item for item in gold if item.grade > 0]


@cache
def _statuses() -> "TypeAdapter[_Statuses]":
    return TypeAdapter(_Statuses)


@cache
def _legs() -> "TypeAdapter[tuple[LegAlone, ...]]":
    return TypeAdapter(tuple[LegAlone, ...])


@cache
def _unjudged() -> "TypeAdapter[tuple[UnjudgedBounds, ...]]":
    return TypeAdapter(tuple[UnjudgedBounds, ...])


@cache
def _words() -> "TypeAdapter[str]":
    return TypeAdapter(str)


@cache
def _cost() -> "TypeAdapter[Cost | None]":
    return TypeAdapter(Cost | None)


@cache
def _digest_code() -> str:
    """Return a digest of what makes these figures."""
    return digest(REVISION, environment.packages())
