"""Many callers at once: what each waits, and how many queries a second are answered."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from assay.retrievers.base import Progress, T

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
    with ThreadPoolExecutor(callers) as pool:
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
