"""Searches among a share of the texts, beside searches among all of them, by engine.

Which texts may be found has nothing to do with the query, or much: a filter may let through what is
nearest to it, as where people ask of the product that they filter by, or what is farthest away,
which is hardest for graphs: the texts they pass on their way are none that may be found.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from assay.eval.collections.collection import Query
from assay.eval.configs.engine_settings import ConfiguredEngine, choose_engines
from assay.eval.runs import environment
from assay.eval.statistics.estimates import SHARE, Estimate, estimate_mean
from assay.eval.studies.stores.engines.engine_bench import Bench, index_engine, open_bench
from assay.eval.studies.stores.engines.timing import (
    WARM_UP,
    Percentiles,
    find_percentiles,
)
from assay.retrievers.base import AssayError
from assay.retrievers.engines.base import Engine
from assay.retrievers.fusion.ranking import Positions, Scored, best
from assay.retrievers.legs.leg_set import over_fetch
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources

SHARES = (0.9, 0.5, 0.1, 0.01, 0.001)
DEPTH = 10  # texts that a search asks for, and to which recall is measured
SEED = 38
Relation = Literal["unrelated", "nearest", "farthest"]
RELATIONS: tuple[Relation, ...] = get_args(Relation)


@dataclass(frozen=True)
class FilteredSearch:
    """Searches for DEPTH texts among a `share` of all, in a `relation` to the query.

    `recall` is against exact search among them, `short` the share of lists that are shorter than
    they could be, `asked` for how many texts the engine was asked on average, `latency` in
    milliseconds.
    """

    share: float
    relation: Relation
    recall: Estimate
    short: float
    asked: float
    latency: Percentiles


@dataclass(frozen=True)
class FilteredEngine:
    """One engine. It is `restricted` where it passes over texts itself, while it searches.

    Another is asked for more, in growing steps, as a pipeline asks it. `recall` and `latency` are
    of searches among all texts.
    """

    engine: str
    version: str
    exact: bool
    restricted: bool
    recall: Estimate
    latency: Percentiles
    searches: tuple[FilteredSearch, ...]


@dataclass(frozen=True)
class FilterStudy:
    """Engines on the dense vectors of one collection; `failed` has those that could not be asked,
    with the reason.
    """

    id: str
    collection: str
    passages: int
    queries: int
    encoder: str
    created: str
    engines: tuple[FilteredEngine, ...]
    failed: Mapping[str, str]
    environment: Mapping[str, Any]
    command: str

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {"depth": DEPTH, **asdict(self)}


def measure_filters(
    names: Sequence[str],
    dataset: str,
    limit: int | None,
    passages: int | None,
    resources: Resources,
) -> FilterStudy:
    """Measure the engines that are named, or all that can be used here, one after the other.

    One that fails does not keep the others. Raises AssayError where all do.
    """
    engines = [engine for engine in choose_engines(names) if "dense" in engine.settings.searches]
    bench = open_bench(dataset, limit, resources, passages)
    allowed = {
        (share, relation): _choose(bench, share, relation)
        for share in SHARES
        for relation in RELATIONS
    }
    measured, failed = [], {}
    for configured in engines:
        resources.progress.say(f"{configured.label}: indexing")
        try:
            with closing(configured.build(resources)) as engine:
                measured.append(_measure(bench, configured, engine, allowed, resources))
        except AssayError as error:
            failed[configured.label] = " ".join(str(error).split())
            resources.progress.say(f"failed: {failed[configured.label]}")
    if not measured:
        raise AssayError("; ".join(failed.values()) or "no engine with dense search is here")
    now = datetime.now(UTC)
    place = bench.collection.name.replace(":", ".").replace("/", ".")
    return FilterStudy(
        id=f"filters-{place}-{now.strftime('%Y%m%dT%H%M%S.%f')[:-3]}",
        collection=bench.collection.name,
        passages=len(bench.texts),
        queries=len(bench.timed),
        encoder=bench.encoder,
        created=now.isoformat(timespec="seconds"),
        engines=tuple(measured),
        failed=failed,
        environment=environment.describe(),
        command=" ".join(
            ["assay engines filters", *names, "--dataset", bench.collection.name, *bench.options]
        ),
    )


def _choose(bench: Bench, share: float, relation: Relation) -> Callable[[Query], Positions]:
    """Return what gives the texts that may be found by a query, rising."""
    size = max(1, round(share * len(bench.texts)))
    if relation == "unrelated":
        drawn = np.random.default_rng((SEED, size)).permutation(len(bench.texts))[:size]
        drawn.sort()
        return lambda _: drawn

    def choose(query: Query) -> Positions:
        order = np.argsort(-(bench.vectors @ bench.encoded[query.id]), kind="stable")
        return np.sort(order[:size] if relation == "nearest" else order[-size:])

    return choose


def _measure(
    bench: Bench,
    configured: ConfiguredEngine,
    engine: Engine,
    choices: Mapping[tuple[float, Relation], Callable[[Query], Positions]],
    resources: Resources,
) -> FilteredEngine:
    index_engine(bench, engine)
    everything = np.arange(len(bench.texts))
    kinds = resources.progress.track(
        choices.items(), f"{configured.label}: searching", len(choices)
    )
    facts = engine.metadata()
    queries = bench.timed
    return FilteredEngine(
        engine=configured.label,
        version=str(facts.get("version", "")),
        exact=bool(facts.get("exact")),
        restricted=engine.restrict(everything) is not None,
        recall=estimate_mean(
            [
                _share(bench, query, everything, engine.dense(bench.encoded[query.id], DEPTH))
                for query in queries
            ],
            SHARE,
        ),
        latency=_time([partial(engine.dense, bench.encoded[query.id], DEPTH) for query in queries]),
        searches=tuple(
            _search(bench, engine, share, relation, {query.id: choose(query) for query in queries})
            for (share, relation), choose in kinds
        ),
    )


def _search(
    bench: Bench,
    engine: Engine,
    share: float,
    relation: Relation,
    allowed: Mapping[str, Positions],
) -> FilteredSearch:
    """Search among the texts `allowed`, by query id."""
    shares, short, asked = [], 0, 0
    for query in bench.timed:
        known = allowed[query.id]
        found, wanted = find(engine, bench.encoded[query.id], known, len(bench.texts))
        shares.append(_share(bench, query, known, found))
        short += len(found) < min(DEPTH, len(known))
        asked += wanted
    calls = [
        partial(find, engine, bench.encoded[query.id], allowed[query.id], len(bench.texts))
        for query in bench.timed
    ]
    return FilteredSearch(
        share=share,
        relation=relation,
        recall=estimate_mean(shares, SHARE),
        short=short / len(shares),
        asked=asked / len(shares),
        latency=_time(calls),
    )


def find(
    engine: Engine, vector: Vectors, allowed: Positions, size: int
) -> tuple[list[Scored], int]:
    """Return the nearest DEPTH of the texts at `allowed`, and for how many of `size` was asked."""
    restricted = engine.restrict(allowed)
    if restricted is not None:
        return restricted.dense(vector, DEPTH), DEPTH
    return over_fetch(
        lambda step: engine.dense(vector, step), frozenset(allowed.tolist()), DEPTH, size
    )


def _share(bench: Bench, query: Query, allowed: Positions, found: Sequence[Scored]) -> float:
    """Return the share of the nearest texts at `allowed` that was found.

    A text as near as the last of them counts too.
    """
    scores = bench.vectors @ bench.encoded[query.id]
    wanted = best(scores, DEPTH, allowed)
    near = [position for position, _ in found if scores[position] >= wanted[-1][1] - 1e-6]
    return min(len(near) / len(wanted), 1.0)


def _time(calls: Sequence[Callable[[], object]]) -> Percentiles:
    """Return p50 and p95 of the milliseconds of `calls`, each made once, after a warm-up."""
    for call in calls[:WARM_UP]:
        call()
    taken = []
    for call in calls:
        begin = time.perf_counter()
        call()
        taken.append((time.perf_counter() - begin) * 1e3)
    return find_percentiles(taken)
