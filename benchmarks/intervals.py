"""`python -m benchmarks.intervals`: how often the intervals of a mean hold it, by method.

The scores are those of the committed baselines on the dev queries of `tarnwick`; their mean is the
truth. Of them queries are drawn with replacement, as many as a collection might have, and an
interval at 95 % is made of each sample by the percentile bootstrap, by BCa, by the studentised
bootstrap, by Student's t, and as this project does it. All are cut to the range of what is
averaged. Printed are the share of intervals that hold the truth and their mean length, for the
means of two runs and for the paired differences of the two; apart for measures that are 0 or 1.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import t

from assay.eval.statistics.estimates import SEED, SHARE, TAIL, Range, estimate_mean

ROOT = Path(__file__).parent.parent
RUNS = ("bm25", "hybrid")
GRADED = ("nDCG@10", "MRR@10", "Recall@20")
BINARY = ("Hit@10",)
CHANGE: Range = (-1.0, 1.0)
AT_ONCE = 500  # samples, of which the resamples are held at once

Numbers = NDArray[np.float64]
Ends = tuple[Numbers, Numbers]
# Of samples (n, count), by how often each draw takes each place (resamples, n), within a range.
Method = Callable[[Numbers, Numbers, Range], Ends]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, nargs="+", default=[10, 20, 60, 200])
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--resamples", type=int, default=2000)
    asked = parser.parse_args()
    print(f"{'held and mean length':<28}" + "".join(f"{name:>14}" for name in METHODS))
    for kind, names in (("graded", GRADED), ("0 or 1", BINARY)):
        base, other = (read_scores(run, names) for run in RUNS)
        for what, population, within in (
            ("means", np.hstack([base, other]), SHARE),
            ("differences", other - base, CHANGE),
        ):
            for n in asked.queries:
                row = describe(population, n, asked.trials, asked.resamples, within)
                print(f"{kind} {what:<14} n = {n:<5}{row}", flush=True)


def read_scores(run: str, measures: tuple[str, ...]) -> Numbers:
    """Return the scores of a baseline's dev queries, of shape (queries, measures)."""
    lines = (ROOT / "datasets/tarnwick/queries.jsonl").read_text("utf-8").splitlines()
    dev = {query["_id"] for query in map(json.loads, lines) if query["metadata"]["split"] == "dev"}
    baseline = json.loads((ROOT / f"reports/baselines/{run}@tarnwick.json").read_text("utf-8"))
    rows = [scores for query, scores in baseline["scores"].items() if query in dev]
    return np.array([[scores[name] for name in measures] for scores in rows])


def describe(population: Numbers, n: int, trials: int, resamples: int, within: Range) -> str:
    """Return how often each method holds the mean of the population, and its length, as a row."""
    rng = np.random.default_rng((SEED, n))
    truth = np.tile(population.mean(axis=0), trials)
    samples = population[rng.integers(len(population), size=(trials, n))]
    samples = samples.transpose(1, 0, 2).reshape(n, -1)
    draws = rng.multinomial(n, np.full(n, 1 / n), resamples).astype(float)
    cells = []
    for method in METHODS.values():
        ends = [
            method(samples[:, i : i + AT_ONCE], draws, within)
            for i in range(0, samples.shape[1], AT_ONCE)
        ]
        low, high = (np.clip(np.concatenate(side), *within) for side in zip(*ends, strict=True))
        held = np.mean((low <= truth + 1e-9) & (truth - 1e-9 <= high))
        cells.append(f"{held:8.3f} {np.mean(high - low):.3f}")
    return "".join(cells)


def take_percentiles(samples: Numbers, draws: Numbers, _: Range) -> Ends:
    """Return percentile-bootstrap intervals."""
    means = draws @ samples / len(samples)
    low, high = np.quantile(means, (TAIL, 1 - TAIL), axis=0)
    return low, high


def correct_bias(samples: Numbers, draws: Numbers, _: Range) -> Ends:
    """Return BCa intervals (Efron 1987); no width where all values are equal."""
    n = len(samples)
    means = np.sort(draws @ samples / n, axis=0)
    mean = samples.mean(axis=0)
    below = np.mean(means < mean - 1e-12, axis=0) + np.mean(means <= mean + 1e-12, axis=0)
    shift = ndtri(np.clip(below / 2, 1e-6, 1 - 1e-6))
    away = samples - mean
    third, second = np.sum(away**3, axis=0), np.sum(away**2, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        bend = np.where(second > 1e-12, third / (6 * second**1.5), 0.0)
    ends = []
    for tail in (TAIL, 1 - TAIL):
        i = shift + ndtri(tail)
        level = ndtr(shift + i / (1 - bend * i))
        rank = np.clip(np.round(level * (len(means) - 1)).astype(int), 0, len(means) - 1)
        ends.append(means[rank, np.arange(samples.shape[1])])
    return ends[0], ends[1]


def studentise(samples: Numbers, draws: Numbers, _: Range) -> Ends:
    """Return bootstrap-t intervals; a resample of no spread says nothing finite."""
    n = len(samples)
    mean, error = samples.mean(axis=0), samples.std(axis=0, ddof=1) / np.sqrt(n)
    means = draws @ samples / n
    spread = np.sqrt(np.maximum(draws @ samples**2 / n - means**2, 0.0) * n / (n - 1))
    away = means - mean
    with np.errstate(invalid="ignore", divide="ignore"):
        score = np.where(np.abs(away) < 1e-12, 0.0, away / np.where(spread < 1e-9, 0.0, spread))
    score *= np.sqrt(n)
    low, high = np.quantile(score, (TAIL, 1 - TAIL), axis=0, method="nearest")
    with np.errstate(invalid="ignore"):
        return (
            np.where(error > 1e-12, mean - high * error, mean),
            np.where(error > 1e-12, mean - low * error, mean),
        )


def take_student(samples: Numbers, _: Numbers, __: Range) -> Ends:
    """Return Student's intervals."""
    n = len(samples)
    half = t.ppf(1 - TAIL, n - 1) * samples.std(axis=0, ddof=1) / np.sqrt(n)
    return samples.mean(axis=0) - half, samples.mean(axis=0) + half


def take_ours(samples: Numbers, _: Numbers, within: Range) -> Ends:
    """Return the intervals that reports show."""
    found = [estimate_mean(sample, within) for sample in samples.T.tolist()]
    return np.array([i.low for i in found]), np.array([i.high for i in found])


METHODS: dict[str, Method] = {
    "percentile": take_percentiles,
    "BCa": correct_bias,
    "studentised": studentise,
    "Student": take_student,
    "taken": take_ours,
}

if __name__ == "__main__":
    main()
