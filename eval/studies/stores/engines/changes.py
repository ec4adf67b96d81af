"""Where rows of a store are put, searched meanwhile, deleted and put anew."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from assay.eval.studies.stores.engines.timing import WARM_UP, Percentiles, find_percentiles
from assay.retrievers.base import Progress
from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.crud import LiveRows
from assay.retrievers.models.base import Vectors


@dataclass(frozen=True)
class Sight:
    """Changes of one kind: seconds until a search saw each, 0 where the next one did.

    None stands for those that none saw within the bound.
    """

    seconds: tuple[float | None, ...]


@dataclass(frozen=True)
class ChangesResult:
    """Rows of a store that are put, searched meanwhile, deleted and put anew.

    `rate` is rows put in a second by one thread, alone; `rate_beside` while another searches.
    `latency` is of searches while nothing changes, `latency_beside` meanwhile.
    """

    rows: int
    batch: int
    rate: float
    latency: Percentiles
    rate_beside: float
    latency_beside: Percentiles
    deletions: Sight
    updates: Sight


DEPTH = 100  # rows a search asks for, and to which recall is measured
BATCH = 500  # rows put at once
FIRST = 0.8  # of the rows are there before others are put beside searches
PROBES = 20  # changes of each kind
PATIENCE = 3.0  # seconds until a change that no search sees is given up
PAUSE = 0.01


def measure_changes(
    engine: Engine, vectors: Vectors, queries: Sequence[Vectors], progress: Progress
) -> ChangesResult:
    """Put `vectors` into live rows of an engine and find what becomes of searches.

    `queries` are vectors. Raises what the store raises.
    """
    first = round(FIRST * len(vectors))
    with engine.open_live(vectors.shape[1]) as rows:
        begin = time.perf_counter()
        _put(rows, vectors, 0, first)
        rate = first / (time.perf_counter() - begin)
        beside = _search_beside(
            rows, queries, lambda: _put(rows, vectors, first, len(vectors)), progress
        )
        latency = find_percentiles(_time(rows, queries))
        seen = [_change(rows, vectors, query) for query in queries[:PROBES]]
    return ChangesResult(
        rows=len(vectors),
        batch=BATCH,
        rate=rate,
        latency=latency,
        rate_beside=(len(vectors) - first) / beside[0],
        latency_beside=find_percentiles(beside[1]),
        deletions=Sight(tuple(deleted for deleted, _ in seen)),
        updates=Sight(tuple(updated for _, updated in seen)),
    )


def _put(rows: LiveRows, vectors: Vectors, begin: int, end: int) -> None:
    """Put the rows from `begin` to `end`, BATCH of them at once."""
    for i in range(begin, end, BATCH):
        ids = range(i, min(i + BATCH, end))
        rows.put(ids, vectors[i : ids.stop])


def _time(rows: LiveRows, queries: Sequence[Vectors]) -> list[float]:
    """Return the milliseconds of each query, after a warm-up."""
    for query in queries[:WARM_UP]:
        rows.search(query, DEPTH)
    return [_take(rows, query) for query in queries]


def _take(rows: LiveRows, query: Vectors) -> float:
    begin = time.perf_counter()
    rows.search(query, DEPTH)
    return (time.perf_counter() - begin) * 1e3


def _search_beside(
    rows: LiveRows, queries: Sequence[Vectors], put: Callable[[], None], progress: Progress
) -> tuple[float, list[float]]:
    """Search again and again while another thread runs `put`.

    Return the seconds that this took and the milliseconds of each search.
    """
    taken: list[float] = []
    with ThreadPoolExecutor(1) as pool:
        begin = time.perf_counter()
        putting: Future[None] = pool.submit(put)
        ended = [begin]
        putting.add_done_callback(lambda _: ended.append(time.perf_counter()))
        progress.say("searching while rows are put")
        while not taken or not putting.done():
            taken.append(_take(rows, queries[len(taken) % len(queries)]))
        putting.result()
    return ended[-1] - begin, taken


def _change(rows: LiveRows, vectors: Vectors, query: Vectors) -> tuple[float | None, float | None]:
    """Delete the row that is nearest to a query, and put it anew with another vector.

    Return the seconds until a search saw the one and the other, and leave the row as it was.
    """
    ((nearest, _),) = rows.search(query, 1)
    rows.delete([nearest])
    deleted = _await(lambda: all(id_ != nearest for id_, _ in rows.search(query, DEPTH)))
    turned = -vectors[nearest]
    rows.put([nearest], turned[None])
    updated = _await(lambda: [id_ for id_, _ in rows.search(turned, 1)] == [nearest])
    _put(rows, vectors, nearest, nearest + 1)
    return deleted, updated


def _await(is_seen: Callable[[], bool]) -> float | None:
    """Return the seconds until a change is seen, 0 where at once; None where it never is."""
    begin = time.perf_counter()
    if is_seen():
        return 0.0
    while (waited := time.perf_counter() - begin) < PATIENCE:
        time.sleep(PAUSE)
        if is_seen():
            return waited
    return None
