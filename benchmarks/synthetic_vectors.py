"""Vectors of any number, as clustered as those of texts are, with planted neighbours."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.retrievers.base import AssayError
from assay.retrievers.models.base import Vectors
from assay.retrievers.store.arrays import ArrayFile

SEED = 2_026
DIMENSIONS = 384
CLUSTERS = 4_096
DIRECTIONS = 48  # in which the vectors of a cluster differ; of texts they are far fewer than all
SPREAD, NOISE = (
    0.6,
    0.1,
)  # lengths of what is added to a cluster's centre: along these, and along all
PLANTED = 0.15  # length of what is added to a query to make the vector that is nearest to it
BATCH = 1 << 16
QUERIES = 200


class Drawn(NamedTuple):
    """Vectors of unit length, mapped into memory; queries, and the row that answers each."""

    vectors: Vectors
    queries: Vectors
    answers: NDArray[np.int64]


def draw_vectors(folder: Path, rows: int) -> Drawn:
    """Return so many vectors and their queries, drawn into `folder` if they are not there.

    Raises AssayError where there are fewer than queries.
    """
    if rows < QUERIES:
        raise AssayError(f"{rows} vectors cannot hold what is planted; allowed: {QUERIES} up")
    place = folder / f"vectors{rows}"
    if not (place / "answers.npy").exists():  # which is written last
        place.mkdir(parents=True, exist_ok=True)
        _write(place, rows)
    vectors = np.asarray(np.load(place / "vectors.npy", mmap_mode="r"))
    return Drawn(vectors, np.load(place / "queries.npy"), np.load(place / "answers.npy"))


def _write(place: Path, rows: int) -> None:
    draw = np.random.default_rng([SEED, rows])
    centres = _normalise(draw.standard_normal((CLUSTERS, DIMENSIONS), np.float32))
    lengths = np.arange(1, DIRECTIONS + 1, dtype=np.float32) ** -0.5
    basis = _normalise(draw.standard_normal((DIRECTIONS, DIMENSIONS), np.float32))
    basis *= (lengths * SPREAD / np.linalg.norm(lengths))[:, None]

    def make(count: int) -> Vectors:
        made = draw.standard_normal((count, DIMENSIONS), np.float32)
        made *= NOISE / DIMENSIONS**0.5
        made += draw.standard_normal((count, DIRECTIONS), np.float32) @ basis
        made += centres[draw.integers(CLUSTERS, size=count)]
        return _normalise(made)

    queries = make(QUERIES)
    answers = draw.choice(rows, QUERIES, replace=False)
    shift = draw.standard_normal(queries.shape, np.float32) * (PLANTED / DIMENSIONS**0.5)
    planted = _normalise(queries + shift)
    with ArrayFile(place / "vectors.npy", np.float32, rows, DIMENSIONS) as file:
        for begin in range(0, rows, BATCH):
            block = make(min(BATCH, rows - begin))
            here = (answers >= begin) & (answers < begin + BATCH)
            block[answers[here] - begin] = planted[here]
            file.add(block)
    np.save(place / "queries.npy", queries)
    np.save(place / "answers.npy", answers)


def _normalise(rows: Vectors) -> Vectors:
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows
