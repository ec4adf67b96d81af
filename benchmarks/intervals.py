"""`python -m benchmarks.intervals`: how often the intervals of a mean hold it, by method.

The scores are those of the committed baselines on the dev queries of `tarnwick`; their mean is the
truth. Of them queries are drawn with replacement, as many as a collection might have, and an
interval at 95 % is made of each sample by the percentile bootstrap, by BCa, by the studentised
bootstrap, by Student's t, and as this project does it; of differences, also by Tango's score
method (Statistics in Medicine 1998), which is for scores of 0 and 1 alone, and with two of the
largest size added, whatever the scores (Agresti and Min). All are cut to the range of what is
averaged. Printed are the share of intervals that hold the truth and their mean length, for the
means of two runs and for the paired differences of the two; apart for measures that are 0 or 1,
and for differences in nDCG@10 of which 85 % are set to 0 by chance.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from assay.eval.statistics.estimates import SEED, SHARE, TAIL, Range, estimate_mean
from assay.eval.statistics.paired import estimate_difference
from assay.eval.statistics.significance import TIE

ROOT = Path(__file__).parent.parent
RUNS = ("bm25", "hybrid")
GRADED = ("nDCG@10", "MRR@10", "Recall@20")
BINARY = ("Hit@10",)
CHANGE: Range = (-1.0, 1.0)
TIED = 0.85
OF_DIFFERENCES = ("Agresti–Min", "Tango")
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
    print(f"|  | n | {' | '.join(METHODS)} |\n|---|---|{'---|' * len(METHODS)}")
    graded, binary = ([read_scores(run, names) for run in RUNS] for names in (GRADED, BINARY))
    for what, population, within in (
        ("graded means", np.hstack(graded), SHARE),
        ("graded differences", graded[1] - graded[0], CHANGE),
        ("differences, 85 % of them 0", thin(graded[1] - graded[0]), CHANGE),
        ("0 or 1 means", np.hstack(binary), SHARE),
        ("0 or 1 differences", binary[1] - binary[0], CHANGE),
    ):
        for n in asked.queries:
            row = describe(population, n, asked.trials, asked.resamples, within)
            print(f"| {what} | {n} | {row} |", flush=True)


def thin(differences: Numbers) -> Numbers:
    """Return the first column of differences with 85 % of its rows, drawn by chance, set to 0."""
    moved = differences[:, :1]
    share = np.mean(np.abs(moved) > TIE)
    kept = np.random.default_rng(SEED).random(len(differences)) < (1 - TIED) / share
    return np.where(kept[:, None], moved, 0.0)


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
    for name, method in METHODS.items():
        apart = name in OF_DIFFERENCES and within != CHANGE
        if apart or (name == "Tango" and set(np.unique(population)) - {-1.0, 0.0, 1.0}):
            cells.append("–")
            continue
        ends = [
            method(samples[:, i : i + AT_ONCE], draws, within)
            for i in range(0, samples.shape[1], AT_ONCE)
        ]
        low, high = (np.clip(np.concatenate(side), *within) for side in zip(*ends, strict=True))
        held = np.mean((low <= truth + 1e-9) & (truth - 1e-9 <= high))
        cells.append(f"{held:.3f} ({np.mean(high - low):.3f})")
    return " | ".join(cells)


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
    half = scipy.stats.t.ppf(1 - TAIL, n - 1) * samples.std(axis=0, ddof=1) / np.sqrt(n)
    return samples.mean(axis=0) - half, samples.mean(axis=0) + half


def add_largest(samples: Numbers, _: Numbers, __: Range) -> Ends:
    """Return Agresti and Min's intervals, with Student's quantile."""
    n = len(samples)
    center = samples.sum(axis=0) / (n + 2)
    spread = (np.sum(samples**2, axis=0) + 1) / (n + 2) - center**2
    half = scipy.stats.t.ppf(1 - TAIL, n - 1) * np.sqrt(spread / (n + 2))
    return center - half, center + half


def take_tango(samples: Numbers, _: Numbers, __: Range) -> Ends:
    """Return the differences of two shares that Tango's score test does not reject."""
    n = len(samples)
    gained, lost = np.sum(samples > 0, axis=0)[:, None], np.sum(samples < 0, axis=0)[:, None]
    shift = np.linspace(-1, 1, 2001)[None, 1:-1]
    linear = (2 * n - gained + lost) * shift - gained - lost
    root = np.sqrt(np.maximum(linear**2 + 8 * n * lost * shift * (1 - shift), 0.0))
    share = (root - linear) / (4 * n)
    spread = np.maximum(n * (2 * share + shift * (1 - shift)), 1e-12)
    kept = (gained - lost - n * shift) ** 2 / spread <= ndtri(1 - TAIL) ** 2
    ends = np.where(kept, shift, np.inf).min(axis=1), np.where(kept, shift, -np.inf).max(axis=1)
    return ends[0] - 0.0005, ends[1] + 0.0005


def take_ours(samples: Numbers, _: Numbers, within: Range) -> Ends:
    """Return the intervals that reports show."""
    found = [
        estimate_difference(sample, 1.0, within)
        if within == CHANGE
        else estimate_mean(sample, within)
        for sample in samples.T.tolist()
    ]
    return np.array([i.low for i in found]), np.array([i.high for i in found])


METHODS: dict[str, Method] = {
    "percentile": take_percentiles,
    "BCa": correct_bias,
    "studentised": studentise,
    "Student": take_student,
    "Agresti–Min": add_largest,
    "Tango": take_tango,
    "taken": take_ours,
}

if __name__ == "__main__":
    main()
