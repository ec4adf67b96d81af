"""Where rows of a store are put, filtered, searched meanwhile, deleted and put anew."""

import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from assay.eval.statistics.estimates import SHARE, Estimate, estimate_mean
from assay.eval.studies.stores.engines.change_figures import (
    FILTERS,
    LABELS,
    ChangesResult,
    FilterResult,
    Sight,
)
from assay.eval.studies.stores.engines.timing import WARM_UP, find_percentiles
from assay.retrievers.base import Progress
from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.crud import LiveRows
from assay.retrievers.models.base import Vectors

DEPTH = 100  # rows a search asks for, and to which recall is measured
BATCH = 500  # rows put at once
FIRST = 0.8  # of the rows are there before others are put beside searches
PROBES = 20  # changes of each kind
PATIENCE = 3.0  # seconds until a change that no search sees is given up
PAUSE = 0.01
SEED = 7
CHANGED = "changed"


class LabelledVectors:
    """The rows that are put: vectors of unit length, and labels drawn for them by LABELS."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors
        drawn = np.random.default_rng(SEED).permutation(len(vectors)) / len(vectors)
        bounds = np.cumsum(list(LABELS.values()))[:-1]
        self.labels = np.array(list(LABELS))[np.searchsorted(bounds, drawn, side="right")]

    def put(self, rows: LiveRows, begin: int, end: int) -> None:
        """Put the rows from `begin` to `end`, BATCH of them at once."""
        for i in range(begin, end, BATCH):
            ids = range(i, min(i + BATCH, end))
            rows.put(ids, self.vectors[i : ids.stop], self.labels[i : ids.stop].tolist())

    def measure_recall(
        self, rows: LiveRows, queries: Sequence[Vectors], labels: Collection[str]
    ) -> Estimate:
        """Return the share of the nearest rows with `labels` that searches find."""
        allowed = np.flatnonzero(np.isin(self.labels, list(labels)))
        shares = []
        for query in queries:
            scores = self.vectors[allowed] @ query
            wanted = allowed[np.argsort(-scores, kind="stable")[:DEPTH]]
            found = [id_ for id_, _ in rows.search(query, DEPTH, labels)]
            shares.append(len(np.intersect1d(wanted, found)) / max(len(wanted), 1))
        return estimate_mean(shares, SHARE)


def measure_changes(
    engine: Engine, vectors: Vectors, queries: Sequence[Vectors], progress: Progress
) -> ChangesResult:
    """Put `vectors` into live rows of an engine and find what becomes of searches.

    `queries` are vectors. Raises what the store raises.
    """
    given = LabelledVectors(vectors)
    first = round(FIRST * len(vectors))
    with engine.open_live(vectors.shape[1]) as rows:
        begin = time.perf_counter()
        given.put(rows, 0, first)
        rate = first / (time.perf_counter() - begin)
        beside = _search_beside(
            rows, queries, lambda: given.put(rows, first, len(vectors)), progress
        )
        latency = find_percentiles(_time(rows, queries, ()))
        filters = tuple(
            FilterResult(
                share,
                given.measure_recall(rows, queries, labels),
                find_percentiles(_time(rows, queries, labels)),
            )
            for share, labels in FILTERS.items()
        )
        seen = [_change(rows, given, query) for query in queries[:PROBES]]
    return ChangesResult(
        rows=len(vectors),
        batch=BATCH,
        rate=rate,
        latency=latency,
        filters=filters,
        rate_beside=(len(vectors) - first) / beside[0],
        latency_beside=find_percentiles(beside[1]),
        deletions=Sight(tuple(deleted for deleted, _ in seen)),
        updates=Sight(tuple(updated for _, updated in seen)),
    )


def _time(rows: LiveRows, queries: Sequence[Vectors], labels: Collection[str]) -> list[float]:
    """Return the milliseconds of each query, after a warm-up."""
    for query in queries[:WARM_UP]:
        rows.search(query, DEPTH, labels)
    return [_take(rows, query, labels) for query in queries]


def _take(rows: LiveRows, query: Vectors, labels: Collection[str] = ()) -> float:
    begin = time.perf_counter()
    rows.search(query, DEPTH, labels)
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


def _change(
    rows: LiveRows, given: LabelledVectors, query: Vectors
) -> tuple[float | None, float | None]:
    """Delete the row that is nearest to a query, and put it anew with another vector and label.

    Return the seconds until a search saw the one and the other, and leave the row as it was.
    """
    ((nearest, _),) = rows.search(query, 1)
    rows.delete([nearest])
    deleted = _await(lambda: all(id_ != nearest for id_, _ in rows.search(query, DEPTH)))
    turned = -given.vectors[nearest]
    rows.put([nearest], turned[None], [CHANGED])
    updated = _await(lambda: [id_ for id_, _ in rows.search(turned, 1, [CHANGED])] == [nearest])
    given.put(rows, nearest, nearest + 1)
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
