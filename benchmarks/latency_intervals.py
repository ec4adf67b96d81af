"""`python -m benchmarks.latency_intervals`: how often intervals of latency hold the truth.

Times are drawn from two skewed distributions of known percentiles: lognormal, and two humps, nine
of ten queries near 2 ms and the others near 20 ms. Printed are the shares of intervals at 95 % that
hold the percentile: exact ones between order statistics, and those of the percentile bootstrap; and
the shares of paired bootstrap intervals that hold the ratio of the percentiles of two pipelines,
of which one takes 1.2 times as long and each varies by a factor of its own from query to query.
"""

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from assay.eval.statistics.estimates import SEED, TAIL, OpenEstimate, estimate_percentile

Numbers = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Numbers]
MANY = 2_000_000  # times whose percentiles are taken for the truth
RESAMPLES = 500
PERCENTILES = (50, 95, 99)
OWN = 0.3  # standard deviation of the logarithm of a query's own factor


def draw_lognormal(rng: np.random.Generator, n: int) -> Numbers:
    return np.exp(rng.normal(0, 1, n))


def draw_humps(rng: np.random.Generator, n: int) -> Numbers:
    slow = rng.random(n) < 0.1
    return np.abs(np.where(slow, rng.normal(20, 3, n), rng.normal(2, 0.2, n)))


SHAPES: dict[str, Draw] = {"lognormal": draw_lognormal, "two humps": draw_humps}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, nargs="+", default=[20, 60, 100, 500])
    parser.add_argument("--trials", type=int, default=500)
    asked = parser.parse_args()
    print("                    n    exact  no end  bootstrap  ratio")
    for name, draw in SHAPES.items():
        rng = np.random.default_rng(SEED)
        truths = np.percentile(draw(rng, MANY), PERCENTILES)
        pair = draw_pair(draw, rng, MANY)
        ratios = np.divide(*(np.percentile(times, PERCENTILES) for times in pair))
        for percent, truth, ratio in zip(PERCENTILES, truths, ratios, strict=True):
            for n in asked.queries:
                row = describe(draw, n, percent, float(truth), float(ratio), asked.trials)
                print(f"{name:<9} p{percent} {n:>6}   {row}", flush=True)


def describe(draw: Draw, n: int, percent: int, truth: float, ratio: float, trials: int) -> str:
    """Return the shares of intervals that hold the truth, as a row."""
    rng = np.random.default_rng((SEED, n, percent))
    counts = np.zeros(4)
    for _ in range(trials):
        sample = draw(rng, n)
        found = estimate_percentile(sample.tolist(), percent)
        other, base = draw_pair(draw, rng, n)
        places = rng.integers(n, size=(RESAMPLES, n))
        resampled = np.percentile(sample[places], percent, axis=1)
        quotients = np.divide(*(np.percentile(i[places], percent, axis=1) for i in (other, base)))
        counts += (
            holds(found, truth),
            found.high is None,
            lies_within(truth, resampled),
            lies_within(ratio, quotients),
        )
    exact, missing, bootstrap, quotient = counts / trials
    return f"{exact:.3f}   {missing:4.0%}    {bootstrap:.3f}    {quotient:.3f}"


def draw_pair(draw: Draw, rng: np.random.Generator, n: int) -> tuple[Numbers, Numbers]:
    """Return the times of two pipelines of the same queries, the slower one first."""
    times = draw(rng, n)
    one, two = (times * np.exp(OWN * rng.standard_t(4, n)) for _ in range(2))
    return 1.2 * one, two


def holds(estimate: OpenEstimate, truth: float) -> bool:
    return (estimate.low is None or estimate.low <= truth) and (
        estimate.high is None or truth <= estimate.high
    )


def lies_within(truth: float, resampled: Numbers) -> bool:
    low, high = np.quantile(resampled, (TAIL, 1 - TAIL))
    return bool(low <= truth <= high)


if __name__ == "__main__":
    main()
