"""Latency as an experiment: after a warm-up, one query at a time, caches off."""

import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from pydantic import Field

from assay.eval.runs.execution.searching import ask, sample
from assay.eval.runs.machine_load import LoadMeter, MachineLoad
from assay.eval.runs.rows import RETRIES
from assay.retrievers.base import Progress, Ranking, Retriever
from assay.retrievers.base.stopwatch import Stopwatch
from assay.retrievers.base.threads import ThreadPool
from assay.retrievers.settings import Settings
from assay.retrievers.settings.filters import Filter

NOTHING: Mapping[str, Filter] = MappingProxyType({})
TOTAL = "total"


class LatencySettings(Settings):
    """Settings of the measurement of latency."""

    queries: int = Field(
        100, ge=0, description="queries timed, evenly spaced, in a fixed random order; 0: none"
    )
    warm_up: int = Field(5, ge=0, description="queries searched before, untimed")
    seconds: float = Field(
        30.0, gt=0, description="no further query is begun after this time, in either part"
    )
    concurrency: int = Field(2, ge=1, description="threads that search at once for throughput")


@dataclass(frozen=True, slots=True)
class LatencySample:
    """One timed query: milliseconds by stage, and `total` as the caller sees it.

    `cpu` is this process's CPU time in milliseconds, in all its threads, of the stages of which it
    is known.
    """

    query_id: str
    milliseconds: dict[str, float]
    cpu: dict[str, float] = field(default_factory=dict)


def collect_times(samples: Iterable[LatencySample], cpu: bool = False) -> dict[str, list[float]]:
    """Return the milliseconds of timed queries by stage, the total first.

    With `cpu` they are CPU milliseconds, of the stages of which these are known.
    """
    times: dict[str, list[float]] = {}
    for one in samples:
        for stage, taken in (one.cpu if cpu else one.milliseconds).items():
            times.setdefault(stage, []).append(taken)
    return times


@dataclass(frozen=True, slots=True)
class Latency:
    """Samples in the order they were timed, and throughput in queries a second.

    Throughput is None when nothing was measured. `retries` is the number of timed calls that failed
    and were repeated. `load` is the load of the machine while the samples were timed.
    """

    samples: tuple[LatencySample, ...]
    throughput: float | None
    concurrency: int
    retries: int = 0
    load: MachineLoad | None = None


def measure(
    retriever: Retriever,
    queries: Sequence[tuple[str, str]],
    depth: int,
    settings: LatencySettings,
    progress: Progress,
    allowed: Mapping[str, Filter] = NOTHING,
) -> Latency:
    """Time `queries`, given as (id, text), on an indexed retriever.

    `allowed` is the filter of documents that a query may find, by its id.

    The clock is monotonic and read outside the retriever for the total; times of stages are the
    retriever's own. Throughput is measured separately, with `settings.concurrency` threads.
    """
    timed = retriever.without_query_cache()

    def search(query_id: str, text: str) -> Ranking:
        return ask(timed, query_id, text, depth, allowed.get(query_id))

    chosen = choose_spaced(queries, settings.queries)
    meter = LoadMeter(retriever.asks_server) if chosen else None
    for query_id, text in chosen[: settings.warm_up]:
        search(query_id, text)
    samples: list[LatencySample] = []
    retries = 0
    deadline = time.perf_counter() + settings.seconds
    for query_id, text in progress.track(chosen, "timing queries", len(chosen)):
        if time.perf_counter() > deadline:
            break
        watch = Stopwatch()
        ranking = search(query_id, text)
        watch.stop(TOTAL)
        watch.wall[TOTAL] -= sum(i.waited for i in ranking.trace)
        stages: dict[str, float] = defaultdict(float)
        cpu: dict[str, float] = defaultdict(float)
        for entry in ranking.trace:
            stages[entry.name] += entry.milliseconds
            if entry.cpu_milliseconds is not None:
                cpu[entry.name] += entry.cpu_milliseconds
            retries += entry.counts.get(RETRIES, 0)
        samples.append(LatencySample(query_id, {**watch.wall, **stages}, {**watch.cpu, **cpu}))
    load = meter.end() if meter else None
    throughput = _throughput(search, chosen, settings)
    return Latency(tuple(samples), throughput, settings.concurrency, retries, load)


def _throughput(
    find: Callable[[str, str], Ranking],
    queries: Sequence[tuple[str, str]],
    settings: LatencySettings,
) -> float | None:
    if not queries:
        return None
    begin = time.perf_counter()

    def search(query: tuple[str, str]) -> bool:
        if time.perf_counter() - begin > settings.seconds:
            return False
        find(*query)
        return True

    with ThreadPool(settings.concurrency) as pool:
        done = sum(pool.map(search, queries))
    return done / (time.perf_counter() - begin)


def choose_spaced(queries: Sequence[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    """Return `count` of `queries`, shuffled: what the time allows is then a fair sample."""
    chosen = sample(queries, count)
    random.Random(len(chosen)).shuffle(chosen)
    return chosen
