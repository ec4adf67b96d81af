"""Where stores are measured side by side: all are open at once, and take turns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from typing import NamedTuple

from eval.analysis.means import estimate_scores
from eval.collections.collection import Query
from eval.experiments.engine_bench import Bench, index_engine, open_bench, timed
from eval.experiments.engine_settings import ConfiguredEngine, choose_engines
from eval.experiments.inventory import open_server
from eval.experiments.store_changes import grow, measure_changes
from eval.parity.benchmark import CALLERS, MEASURE, Benchmark, SearchResult, Speed, StoreResult
from eval.parity.changes import ChangesResult
from eval.parity.load import Load, load_by_turns
from eval.parity.quality import DENSE, HYBRID, KEYWORD, score_rankings
from eval.parity.results import IndexCost
from eval.parity.timing import find_percentiles, time_interleaved
from eval.runs import environment
from eval.runs.delays import find_delay
from eval.statistics.estimates import SHARE, Estimate, estimate_mean
from retrievers.base import AssayError, cut
from retrievers.engines.base import Engine
from retrievers.engines.recall import measure_shares
from retrievers.ranking import Scored
from retrievers.settings import Workshop

DEPTH = 100  # hits a query asks for, and to which recall is measured
SECONDS = 30.0  # of timing with one caller, a system

Search = Callable[[Query], list[Scored]]
# By the number of callers.
Loads = Mapping[int, Load]


class Opened(NamedTuple):
    """An engine that has indexed the bench, and its searches by name."""

    configured: ConfiguredEngine
    engine: Engine
    cost: IndexCost
    searches: Mapping[str, Search]


class Missing(NamedTuple):
    """What could not be asked, with the reason: engines, and searches by engine and name."""

    engines: dict[str, str]
    searches: dict[str, str]


def measure_stores(
    names: Sequence[str],
    dataset: str,
    limit: int | None,
    rows: int | None,
    workshop: Workshop,
) -> Benchmark:
    """Measure the engines that are named, or all that can be used here, on a collection.

    What changes are so many `rows`; None: one a passage of the collection. An engine that fails
    does not keep the others. Raises AssayError where all do.
    """
    engines = choose_engines(names)
    bench = open_bench(dataset, limit, workshop)
    missing = Missing({}, {})
    with ExitStack() as stack:
        opened = list(_open_all(bench, engines, missing, stack, workshop))
        if not opened:
            raise AssayError("; ".join(missing.engines.values()) or "no engine can be used here")
        loads = _time(bench, opened, workshop)
        changes = {
            item.configured.label: _change(bench, item, rows, missing, workshop)
            for item in opened
            if item.engine.live
        }
        stores = tuple(_describe(bench, item, loads, changes) for item in opened)
    options = [*names, "--dataset", bench.collection.name, *bench.options]
    if rows is not None:
        options += ["--rows", str(rows)]
    return Benchmark(
        collection=bench.collection.name,
        queries=len(bench.queries),
        timed=len(bench.timed),
        passages=len(bench.texts),
        encoder=bench.encoder,
        stores=stores,
        absent=missing.engines,
        lacking=missing.searches,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        environment=environment.describe(),
        load=environment.find_load(),
        command=("assay", "engines", "bench", *options),
    )


def _open_all(
    bench: Bench,
    engines: Sequence[ConfiguredEngine],
    missing: Missing,
    stack: ExitStack,
    workshop: Workshop,
) -> Iterator[Opened]:
    """Yield the engines that can be asked; `missing` is told of the others."""
    for configured in workshop.progress.track(engines, "indexing", len(engines)):
        try:
            engine = stack.enter_context(closing(configured.build(workshop)))
            cost = index_engine(bench, engine)
        except AssayError as error:
            missing.engines[configured.label] = " ".join(str(error).split())
            workshop.progress.say(f"failed: {missing.engines[configured.label]}")
            continue
        searches = {}
        for name, search in _list_searches(bench, engine):
            try:
                search(bench.asked[0])
                searches[name] = search
            except AssayError as error:
                missing.searches[f"{configured.label}: {name}"] = " ".join(str(error).split())
        yield Opened(configured, engine, cost, searches)


def _list_searches(bench: Bench, engine: Engine) -> Iterator[tuple[str, Search]]:
    """Yield both lists of an engine, and its own hybrid search."""
    yield DENSE, lambda query: engine.dense(bench.encoded[query.id], DEPTH)
    yield KEYWORD, lambda query: engine.keyword(query.text, DEPTH)
    yield HYBRID, lambda query: engine.hybrid(query.text, bench.encoded[query.id], DEPTH)


def _time(bench: Bench, opened: Sequence[Opened], workshop: Workshop) -> dict[str, Loads]:
    """Return the loads of every search of every engine, which take turns."""
    systems = {
        _name(item, search): timed(call)
        for item in opened
        for search, call in item.searches.items()
    }
    alone = time_interleaved(systems, bench.timed, SECONDS, workshop.progress)
    loads = {
        name: {1: Load(1, tuple(taken), 1e3 * len(taken) / sum(taken))}
        for name, taken in alone.items()
    }
    for callers in CALLERS[1:]:
        for name, load in load_by_turns(systems, bench.timed, callers, workshop.progress).items():
            loads[name][callers] = load
    return dict(loads)


def _change(
    bench: Bench, item: Opened, rows: int | None, missing: Missing, workshop: Workshop
) -> ChangesResult | None:
    """Return what the store does with rows that change; `missing` is told where it fails."""
    name = item.configured.label
    workshop.progress.say(f"{name}: filters and changes")
    queries = [bench.encoded[query.id] for query in bench.timed]
    try:
        return measure_changes(item.engine, grow(bench, rows), queries, workshop.progress)
    except Exception as error:  # rows raise whatever their store raises
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        missing.searches[f"{name}: filters and changes"] = cut(reason)
        return None


def _describe(
    bench: Bench,
    item: Opened,
    loads: Mapping[str, Loads],
    changes: Mapping[str, ChangesResult | None],
) -> StoreResult:
    facts = item.engine.facts()
    return StoreResult(
        engine=item.configured.label,
        version=str(facts.get("version", "")),
        exact=bool(facts.get("exact")),
        index=item.cost,
        memory=_read_memory(item.configured),
        searches=tuple(
            SearchResult(
                search=search,
                quality=_judge(bench, call),
                recall=_measure_recall(bench, item.engine) if search == DENSE else None,
                speeds=tuple(
                    Speed(load.callers, find_percentiles(load.milliseconds), load.throughput)
                    for load in loads[_name(item, search)].values()
                ),
                delays=_describe_delay(_name(item, search), loads),
            )
            for search, call in item.searches.items()
        ),
        changes=changes.get(item.configured.label),
    )


def _describe_delay(name: str, loads: Mapping[str, Loads]) -> tuple[str, ...]:
    """Return what one caller waits for; several wait for one another."""
    found = find_delay(loads[name][1].milliseconds)
    return (found.describe(name),) if found else ()


def _judge(bench: Bench, search: Search) -> Estimate:
    ranked = bench.rank({query.id: search(query) for query in bench.asked})
    scores = score_rankings(bench.collection, bench.queries, ranked, [MEASURE])[MEASURE]
    return estimate_scores(MEASURE, scores.values())


def _measure_recall(bench: Bench, engine: Engine) -> Estimate:
    vectors = [bench.encoded[query.id] for query in bench.asked]
    return estimate_mean(measure_shares(engine.dense, bench.vectors, vectors, DEPTH), SHARE)


def _read_memory(configured: ConfiguredEngine) -> int | None:
    """Return the bytes that a server holds in memory, where it tells."""
    if not configured.settings.capabilities.server:
        return None
    with open_server(configured) as server:
        return server.read_memory()


def _name(item: Opened, search: str) -> str:
    return f"{item.configured.label}: {search}"
