"""`python -m benchmarks.families RUN`: what a family of tests finds, of nothing and of a true gain.

The scores of a stored run are resampled, query by query. In runs beside it that are no better a
share of the queries has the scores of other queries, so that up and down are equally likely; the
better one has in addition a share of its queries raised to 1. Counted are the trials with any false
finding, and those in which the gain is found, by the largest statistic of the family and by Holm's
method on the same p-values.
"""

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay import load_runs
from assay.eval import no_telemetry
from assay.eval.statistics.max_t import randomise_family
from assay.eval.statistics.significance import ALPHA

no_telemetry.disable()
MEASURES = ("nDCG@10", "MRR@10", "Hit@1", "Hit@5", "Recall@20", "Recall@2000tok")
MOVED = 0.3
RAISED = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", help="a stored run: its id, or the beginning of one")
    parser.add_argument("--queries", type=int, nargs="+", default=[60, 250])
    parser.add_argument("--others", type=int, nargs="+", default=[1, 5, 15])
    parser.add_argument("--trials", type=int, default=1000)
    asked = parser.parse_args()
    (run,) = load_runs(asked.run)
    scores = run.per_query[[name for name in MEASURES if name in run.per_query]].to_numpy(float)
    print(f"{'queries':>7} {'others':>6} {'tests':>5}   false findings        gain found")
    print(f"{'':>20}   max-T      Holm      max-T      Holm")
    for queries in asked.queries:
        for others in asked.others:
            print(describe(scores, queries, others, asked.trials), flush=True)


def describe(scores: NDArray[np.float64], queries: int, others: int, trials: int) -> str:
    """Return the rates of false findings and of gains found, as a row."""
    wrong, found = np.zeros(2), np.zeros(2)
    measures = scores.shape[1]
    for seed in range(trials):
        rng = np.random.default_rng((seed, queries, others))
        base = scores[rng.integers(len(scores), size=queries)]
        columns = [resample(base, scores, rng) - base for _ in range(others)]
        quiet = np.hstack(columns)
        gained = np.where(rng.random((queries, 1)) < RAISED, 1.0, base + columns[0]) - base
        for i, rejected in enumerate(judge(quiet)):
            wrong[i] += rejected.any()
        for i, rejected in enumerate(judge(np.hstack([gained, *columns[1:]]))):
            found[i] += rejected[0]
    cells = (f"{value / trials:.3f}" for value in (*wrong, *found))
    return f"{queries:>7} {others:>6} {others * measures:>5}   " + "      ".join(cells)


def resample(
    base: NDArray[np.float64], scores: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return `base` with a share of its rows replaced by others of `scores`."""
    other = scores[rng.integers(len(scores), size=len(base))]
    return np.where(rng.random((len(base), 1)) < MOVED, other, base)


def judge(differences: NDArray[np.float64]) -> list[NDArray[np.bool_]]:
    """Return which tests reject, by the largest statistic and by Holm's method."""
    family = randomise_family(differences)
    return [
        np.array(adjusted) <= ALPHA for adjusted in (family.adjusted, adjust_holm(family.p_values))
    ]


def adjust_holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values (Holm 1979)."""
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


if __name__ == "__main__":
    main()
