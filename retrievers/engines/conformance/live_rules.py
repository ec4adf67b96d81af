"""What rows that change while they are searched must do, in whatever engine."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np

from assay.retrievers.base import AssayError
from assay.retrievers.conformance import ConformanceError, require
from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.crud import LiveRows
from assay.retrievers.models.base import Vectors

Make = Callable[[], Engine]

DIMENSIONS = 16
ROWS = 60
SHUFFLED = [int(i) for i in np.random.default_rng(5).permutation(ROWS)]


def make_vectors(count: int = ROWS) -> Vectors:
    """Return that many vectors of unit length, drawn at random."""
    drawn = np.random.default_rng(3).normal(size=(count, DIMENSIONS))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), np.float32)


def rows_are_found_as_near_as_they_are(make: Make) -> None:
    """A search gives the nearest rows with their cosines, best first, and none where none is."""
    with closing(make()) as engine:
        if not engine.live:
            _refuses(engine)
            return
        vectors = make_vectors()
        with engine.open_live(DIMENSIONS) as rows:
            require(rows.search(vectors[0], 5) == [], "a row is found where there is none")
            _put(rows, vectors, SHUFFLED[:40])
            _put(rows, vectors, SHUFFLED[40:])
            _finds_nearest(rows, vectors, vectors[7])


def rows_change_for_the_next_search(make: Make) -> None:
    """What is deleted is gone at once; what is put takes the place of what had its id."""
    with closing(make()) as engine:
        if not engine.live:
            return
        vectors = make_vectors()
        with engine.open_live(DIMENSIONS) as rows:
            _put(rows, vectors, range(ROWS))
            rows.delete([7, 8])
            found = {id_ for id_, _ in rows.search(vectors[7], ROWS)}
            require(found == set(range(ROWS)) - {7, 8}, "a row that was deleted is found")
            rows.delete([7, ROWS + 5])
            rows.put([7, 9], vectors[[8, 7]])
            near = [rows.search(vector, 1)[0][0] for vector in (vectors[8], vectors[7])]
            require(near == [7, 9], f"{near} are found by their new vectors, not 7 and 9")
            first, score = rows.search(vectors[7], 1)[0]
            require((first, round(score, 4)) == (9, 1), "the old vector of a row is found")
            every = [id_ for id_, _ in rows.search(vectors[7], 2 * ROWS)]
            require(sorted(every) == sorted({*range(ROWS)} - {8}), "a row is found twice or lost")


def rows_are_searched_while_they_change(make: Make) -> None:
    """Searches beside one thread that puts and deletes give whole rows, best first."""
    with closing(make()) as engine:
        if not engine.live:
            return
        vectors = make_vectors()
        with engine.open_live(DIMENSIONS) as rows, ThreadPoolExecutor(1) as pool:
            _put(rows, vectors, range(20))

            def change() -> None:
                for i in range(20, ROWS, 10):
                    _put(rows, vectors, range(i, i + 10))
                    rows.delete([i])

            changing = pool.submit(change)
            searches = 0
            while not changing.done() or searches < 10:
                found = rows.search(vectors[3], 10)
                ids, scores = zip(*found, strict=True)
                require(len(set(ids)) == len(ids) == 10, f"{len(set(ids))} rows, and not 10")
                require(list(scores) == sorted(scores, reverse=True), "not best first")
                require(ids[0] == 3, "a row that nobody touched is not found")
                searches += 1
            changing.result()
            left = {id_ for id_, _ in rows.search(vectors[3], ROWS)}
            wanted = set(range(ROWS)) - {20, 30, 40, 50}
            require(left <= wanted, "a row that was deleted is found")
            # A graph that several threads made may lead past a row; a lost change has nine.
            require(len(wanted - left) <= 1, "a change was lost")


def _put(rows: LiveRows, vectors: Vectors, ids: "range | list[int]") -> None:
    chosen = list(ids)
    rows.put(chosen, vectors[chosen])


def _finds_nearest(rows: LiveRows, vectors: Vectors, query: Vectors) -> None:
    scores = vectors @ query
    wanted = np.argsort(-scores)[:10].tolist()
    found = rows.search(query, 10)
    ids = [id_ for id_, _ in found]
    require(set(ids) == set(wanted), f"{ids} are found, and not {wanted}")
    told = [score for _, score in found]
    require(np.allclose(told, [scores[id_] for id_ in ids], atol=1e-4), "other scores than cosines")
    require(told == sorted(told, reverse=True), "not best first")


def _refuses(engine: Engine) -> None:
    try:
        engine.open_live(DIMENSIONS)
    except AssayError as error:
        require("\n" not in str(error), "more than one line")
    else:
        raise ConformanceError("it is not live, and opens rows")
