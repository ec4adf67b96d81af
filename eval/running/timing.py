"""Timing several configs interleaved in one job, so that machine load affects all alike."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from assay.eval.collections.collection import Collection, Query
from assay.eval.collections.permissions import list_allowed
from assay.eval.runs.execution.interleaved_timing import ROUNDS, InterleavedTiming, alternate
from assay.eval.runs.latency import LatencySettings, choose_spaced
from assay.eval.runs.machine_load import LoadMeter
from assay.retrievers.base import Progress, Retriever
from assay.retrievers.settings import Resources
from assay.retrievers.settings.filters import Filter
from assay.retrievers.store.files import write_atomically
from assay.retrievers.store.locks import changing

if TYPE_CHECKING:
    from assay.eval.configs.config import RunConfig


class System(NamedTuple):
    """A system to be timed: `build` returns its retriever, not indexed; `depth` is hits a query."""

    build: Callable[[], Retriever]
    depth: int


def find_timing(
    path: Path,
    systems: Mapping[str, System],
    collection: Collection,
    limits: LatencySettings,
    queries: Sequence[Query],
    progress: Progress,
    rounds: int = ROUNDS,
    rerun: bool = False,
) -> InterleavedTiming | None:
    """Return the timing of `systems`, by the ids of their runs, kept at `path`, or make it.

    The same runs keep their timing, as they keep their scores, unless `rerun`. It is None if
    `limits` allow no query.
    """
    with changing(path):
        kept = None if rerun else read_timing(path)
        if kept and systems.keys() <= kept.milliseconds.keys():
            return kept
        chosen = choose_spaced([(query.id, query.text) for query in queries], limits.queries)
        if not chosen:
            return None
        timing = time_together(systems, collection, limits, chosen, progress, rounds)
        write_atomically(path, f"{timing.model_dump_json(indent=1)}\n".encode())
        return timing


def find_config_timing(
    path: Path,
    configs: Mapping[str, "RunConfig"],
    collection: Collection,
    limits: LatencySettings,
    queries: Sequence[Query],
    resources: Resources,
    rounds: int = ROUNDS,
) -> InterleavedTiming | None:
    """Return the timing of `configs` as `find_timing` does; they share indexes where they can.

    No config reuses the results of another.
    """
    from assay.retrievers.pipeline.variants import Variants

    with Variants(resources, timed=True) as variants:
        systems = {
            run: System(partial(variants.build, config), config.depth)
            for run, config in configs.items()
        }
        progress = resources.progress
        return find_timing(path, systems, collection, limits, queries, progress, rounds)


def read_timing(path: Path) -> InterleavedTiming | None:
    """Return the timing in the file at `path`; None where there is none that can be read."""
    try:
        return InterleavedTiming.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def time_together(
    systems: Mapping[str, System],
    collection: Collection,
    limits: LatencySettings,
    chosen: Sequence[tuple[str, str]],
    progress: Progress,
    rounds: int = ROUNDS,
) -> InterleavedTiming:
    """Time `systems` on the `chosen` queries, (id, text), interleaved."""
    asks_server, allowed = False, list_allowed(collection)
    with ExitStack() as stack:
        contenders = []
        for build, depth in systems.values():
            retriever = stack.enter_context(build())
            retriever.index(collection.documents)
            timed = retriever.without_query_cache()
            contender = _time(timed, depth, allowed)
            for query in chosen[: limits.warm_up]:
                contender(query)
            contenders.append(contender)
            asks_server |= retriever.asks_server
        meter = LoadMeter(asks_server)
        times = alternate(contenders, chosen, limits.seconds, progress, rounds)
        load = meter.end()
    reached = [id_ for id_, _ in chosen][: len(times[0])]
    milliseconds = dict(zip(systems, times, strict=True))
    return InterleavedTiming(queries=reached, milliseconds=milliseconds, load=load)


def _time(
    retriever: Retriever, depth: int, allowed: Mapping[str, Filter]
) -> Callable[[tuple[str, str]], float]:
    """Return a function that searches for an (id, text) and returns the time in milliseconds.

    The time excludes waits for retries. `allowed` restricts the documents that some queries may
    find, by query id.
    """

    def measure(query: tuple[str, str]) -> float:
        id_, text = query
        begin = time.perf_counter()
        asked = retriever.restrict(allowed[id_]) if id_ in allowed else retriever
        ranking = asked.search(text, depth)
        return (time.perf_counter() - begin) * 1000 - sum(i.waited for i in ranking.trace)

    return measure
