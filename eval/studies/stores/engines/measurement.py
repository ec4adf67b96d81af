"""Where one store is measured: what its searches find, how fast they are, what its index costs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from time import perf_counter
from typing import NamedTuple

from assay.eval.collections.collection import Query
from assay.eval.configs.engine_settings import ConfiguredEngine
from assay.eval.runs import environment
from assay.eval.runs.delays import find_delay
from assay.eval.runs.summary.means import estimate_scores
from assay.eval.statistics.estimates import SHARE, Estimate, estimate_mean
from assay.eval.studies.stores.engines.benchmark import (
    CALLERS,
    MEASURE,
    SearchMeasurement,
    Speed,
    StoreResult,
)
from assay.eval.studies.stores.engines.changes import ChangesResult, measure_changes
from assay.eval.studies.stores.engines.engine_bench import Bench, index_engine, timed
from assay.eval.studies.stores.engines.inventory import open_server
from assay.eval.studies.stores.engines.timing import find_percentiles, time_interleaved
from assay.eval.studies.stores.parity.quality import DENSE, HYBRID, KEYWORD, score_rankings
from assay.retrievers.base import AssayError, Progress, T, cut
from assay.retrievers.base.threads import ThreadPool
from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.recall import measure_share
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.settings import Resources

ROUNDS = 3
WARM_UP = 2  # calls of each caller


@dataclass(frozen=True)
class Load:
    """Milliseconds of each query while `callers` ask at once, and queries answered in a second.

    Of each query the median of its rounds.
    """

    callers: int
    milliseconds: tuple[float, ...]
    throughput: float


def load_by_turns(
    systems: Mapping[str, Callable[[T], float]],
    queries: Sequence[T],
    callers: int,
    progress: Progress,
) -> dict[str, Load]:
    """Ask all `queries` of each system, `callers` at once, in rounds in which all take turns.

    A caller is a thread that asks again as soon as it is answered: all share this process. Systems
    give the milliseconds of a query. Who begins changes with every round.
    """
    taken: dict[str, list[list[float]]] = {name: [] for name in systems}
    seconds = dict.fromkeys(systems, 0.0)
    with ThreadPool(callers) as pool:
        warm = [queries[i % len(queries)] for i in range(callers * WARM_UP)]
        for system in systems.values():
            list(pool.map(system, warm))
        names = list(systems)
        rounds = [names[i % len(names) :] + names[: i % len(names)] for i in range(ROUNDS)]
        turns = [name for order in rounds for name in order]
        for name in progress.track(turns, f"{callers} callers at once", len(turns)):
            begin = perf_counter()
            taken[name].append(list(pool.map(systems[name], queries)))
            seconds[name] += perf_counter() - begin
    return {
        name: Load(
            callers,
            tuple(median(times) for times in zip(*taken[name], strict=True)),
            ROUNDS * len(queries) / seconds[name],
        )
        for name in systems
    }


DEPTH = 100  # hits a query asks for, and to which recall is measured
SECONDS = 30.0  # of timing with one caller, a search
PATIENCE = 120.0  # seconds: where judging or loading a search takes longer, it is left out

Search = Callable[[Query], list[Scored]]
Answers = Mapping[str, list[Scored]]  # by query id


class Subject(NamedTuple):
    """An engine that has indexed the bench, its searches by name, and what is left out, and why.

    `seconds` is what a search of each takes, about.
    """

    name: str
    engine: Engine
    searches: dict[str, Search]
    seconds: dict[str, float]
    lacking: dict[str, str]


def measure_store(
    bench: Bench, configured: ConfiguredEngine, identity: str, resources: Resources
) -> StoreResult:
    """Index the bench in an engine, and measure all of it. Raises AssayError where it fails."""
    with closing(configured.build(resources)) as engine:
        cost = index_engine(bench, engine)
        subject = _try_searches(bench, configured.label, engine)
        answers = _answer(bench, subject, resources)
        loads = _time(bench, subject, resources)
        changes = _change(bench, subject, resources) if engine.live else None
        facts = engine.metadata()
        return StoreResult(
            engine=configured.label,
            identity=identity,
            version=str(facts.get("version", "")),
            exact=bool(facts.get("exact")),
            index=cost,
            memory=_read_memory(configured),
            searches=tuple(
                SearchMeasurement(
                    search=search,
                    quality=_judge(bench, answers[search]) if search in answers else None,
                    recall=(
                        _measure_recall(bench, answers[search])
                        if search == DENSE and search in answers
                        else None
                    ),
                    speeds=tuple(
                        Speed(load.callers, find_percentiles(load.milliseconds), load.throughput)
                        for load in loads[search]
                    ),
                    delays=_describe_delay(configured, search, loads[search][0]),
                )
                for search in subject.searches
            ),
            changes=changes,
            lacking=subject.lacking,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            environment={
                name: value for name, value in environment.describe().items() if name != "command"
            },
            load=environment.find_load(),
        )


def _try_searches(bench: Bench, name: str, engine: Engine) -> Subject:
    """Return the searches that an engine can do, each asked twice: the first may open something."""
    subject = Subject(name, engine, {}, {}, {})
    for search, call in _list_searches(bench, engine):
        try:
            call(bench.asked[0])
            subject.seconds[search] = timed(call)(bench.asked[0]) / 1e3
            subject.searches[search] = call
        except AssayError as error:
            subject.lacking[search] = " ".join(str(error).split())
    return subject


def _list_searches(bench: Bench, engine: Engine) -> Iterator[tuple[str, Search]]:
    """Yield both lists of an engine, and its own hybrid search."""
    yield DENSE, lambda query: engine.dense(bench.encoded[query.id], DEPTH)
    yield KEYWORD, lambda query: engine.keyword(query.text, DEPTH)
    yield HYBRID, lambda query: engine.hybrid(query.text, bench.encoded[query.id], DEPTH)


def _bear(subject: Subject, part: str, calls: int) -> dict[str, Search]:
    """Return the searches of which so many calls can be waited for; `lacking` has the others."""
    borne = {}
    for search, call in subject.searches.items():
        if (seconds := subject.seconds[search]) * calls <= PATIENCE:
            borne[search] = call
        else:
            subject.lacking[f"{search}, {part}"] = (
                f"{calls} searches of {seconds:.2g} s take longer than {PATIENCE:g} s"
            )
    return borne


def _answer(bench: Bench, subject: Subject, resources: Resources) -> dict[str, Answers]:
    """Return what the searches find for all queries."""
    found: dict[str, Answers] = {}
    for search, call in _bear(subject, "judged", len(bench.asked)).items():
        what = f"{subject.name}: {search}, all queries"
        queries = resources.progress.track(bench.asked, what, len(bench.asked))
        found[search] = {query.id: call(query) for query in queries}
    return found


def _time(bench: Bench, subject: Subject, resources: Resources) -> dict[str, list[Load]]:
    """Return the loads of every search, which take turns; that of one caller stands first."""
    one, many = CALLERS
    systems = {search: timed(call) for search, call in subject.searches.items()}
    resources.progress.say(f"{subject.name}: timing")
    alone = time_interleaved(systems, bench.timed, SECONDS, resources.progress)
    loads = {
        search: [Load(one, tuple(times), 1e3 * len(times) / sum(times))]
        for search, times in alone.items()
    }
    if borne := _bear(subject, f"{many} callers", ROUNDS * len(bench.timed)):
        together = {search: systems[search] for search in borne}
        for search, load in load_by_turns(together, bench.timed, many, resources.progress).items():
            loads[search].append(load)
    return loads


def _change(bench: Bench, subject: Subject, resources: Resources) -> ChangesResult | None:
    """Return what the store does with rows that change; `lacking` is told where it fails."""
    resources.progress.say(f"{subject.name}: changes")
    queries = [bench.encoded[query.id] for query in bench.timed]
    try:
        return measure_changes(subject.engine, bench.vectors, queries, resources.progress)
    except Exception as error:  # rows raise whatever their store raises
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        subject.lacking["changes"] = cut(reason)
        return None


def _judge(bench: Bench, answers: Answers) -> Estimate:
    ranked = bench.rank(answers)
    scores = score_rankings(bench.collection, bench.queries, ranked, [MEASURE])[MEASURE]
    return estimate_scores(MEASURE, scores.values())


def _measure_recall(bench: Bench, answers: Answers) -> Estimate:
    shares = [
        measure_share(bench.vectors, bench.encoded[query], found, DEPTH)
        for query, found in answers.items()
    ]
    return estimate_mean(shares, SHARE)


def _read_memory(configured: ConfiguredEngine) -> int | None:
    """Return the bytes that a server holds in memory, where it tells."""
    if not configured.settings.capabilities.server:
        return None
    with open_server(configured) as server:
        return server.read_memory()


def _describe_delay(configured: ConfiguredEngine, search: str, alone: Load) -> tuple[str, ...]:
    """Return what one caller of a server may wait for; several wait for one another."""
    found = find_delay(alone.milliseconds) if configured.settings.capabilities.server else None
    return (found.describe(f"{configured.label}: {search}"),) if found else ()
