"""The coverage of searches by the judged queries of a collection."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.eval.collections.collection import Query
from assay.eval.runs.json_form import in_json, shape
from assay.eval.studies.traces.drift import Period
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.settings import Resources

MOST = 5_000  # queries of each period that are encoded, the most frequent ones
FAR = 0.1  # share of the earlier searches that count as far from any judged query
SHOWN = 10
IDLE = 5  # later searches expected for a judged query that is reported as idle
Vectors = NDArray[np.float32]


@in_json("judged", "far", "idle", next=shape("following", query="0", searches="1"))
@dataclass(frozen=True, slots=True)
class JudgedCoverage:
    """The similarity of searches to judged queries, by the cosine of their vectors.

    A search is far if it is as far from every judged query as the farthest tenth of the earlier
    searches.

    Attributes:
        judged: The number of judged queries.
        nearest: The similarity of each search of both periods to its nearest judged query; NaN for
            queries that were not encoded.
        far: The share of the later searches that are far.
        idle: The texts of judged queries that stood for earlier searches and for no later one.
        following: The queries to judge next, each with the number of far searches it stands for.
    """

    judged: int
    nearest: NDArray[np.float64]
    far: float
    idle: Sequence[str]
    following: Sequence[tuple[str, int]]


def cover(
    base: Period, now: Period, judged: Sequence[Query], resources: Resources
) -> JudgedCoverage:
    """Return the coverage of the searches of two periods by the `judged` queries."""
    times = [Counter(period.queries) for period in (base, now)]
    texts = base.known.texts
    keys = list(dict.fromkeys(key for one in times for key, _ in one.most_common(MOST)))
    encoder = EncoderSettings().build(resources)
    vectors = _normalise(encoder.encode_passages([texts[key] for key in keys]))
    queries = _normalise(encoder.encode_passages([query.text for query in judged]))
    similar = vectors @ queries.T
    best = np.full(len(texts), np.nan)
    best[keys] = similar.max(axis=1)
    owner = dict(zip(keys, similar.argmax(axis=1).tolist(), strict=True))
    nearest = best[base.queries + now.queries]
    limit = float(np.nanquantile(nearest[: len(base)], FAR))
    far = [i for i, key in enumerate(keys) if best[key] < limit and times[1][key]]
    counts = np.array([times[1][keys[i]] for i in far], float)
    stands = [Counter[int](), Counter[int]()]
    for key in keys:
        if best[key] >= limit:
            for one, count in zip(stands, times, strict=True):
                one[owner[key]] += count[key]
    # With this many expected, having none is seldom due to chance.
    enough = IDLE * len(base) / len(now)
    idle = [i for i, count in stands[0].items() if count >= enough and not stands[1][i]]
    return JudgedCoverage(
        judged=len(judged),
        nearest=nearest,
        far=float(np.mean(nearest[len(base) :] < limit)),
        idle=[judged[i].text for i in sorted(idle)],
        following=[
            (texts[keys[far[i]]], covered) for i, covered in _choose(vectors[far], counts, limit)
        ],
    )


def _choose(vectors: Vectors, counts: NDArray[np.float64], limit: float) -> list[tuple[int, int]]:
    """Choose greedily the queries nearest to most uncovered searches; return index and number."""
    parts = np.array_split(vectors, len(vectors) // 500 + 1)  # limits the memory for scores
    near = np.concatenate([part @ vectors.T >= limit for part in parts])
    left = counts.copy()
    chosen: list[tuple[int, int]] = []
    while len(chosen) < SHOWN and left.any():
        gains = np.array([left[row].sum() for row in near])
        best = int(gains.argmax())
        chosen.append((best, int(gains[best])))
        left[near[best]] = 0
    return chosen


def _normalise(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float32).tiny), np.float32)
