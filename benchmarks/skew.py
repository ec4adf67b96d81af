"""`python -m benchmarks.skew`: what the randomisation test makes of rare and large losses.

The scores are those of the committed baselines on the dev queries of `tarnwick`, of which as many
as a collection might have are drawn with replacement. A share of the queries of `hybrid` loses all
its scores and the others gain as much between them, so that no mean changes. Counted are the trials
with any false finding among four measures, and those in which one stands without the warning that
it presumes symmetry. Then `hybrid` stands beside `bm25`, which it is better than in truth: counted
are the trials with any finding, those with one that bears no warning, and the share of findings
that bear one.
"""

import argparse

import numpy as np

from assay.eval import no_telemetry
from assay.eval.statistics.max_t import randomise_family
from assay.eval.statistics.significance import ALPHA, presumes_symmetry
from benchmarks.intervals import BINARY, GRADED, Numbers, read_scores

no_telemetry.disable()
MEASURES = (*GRADED, *BINARY)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, nargs="+", default=[60, 200])
    parser.add_argument("--lost", type=float, nargs="+", default=[0.01, 0.03, 0.1])
    parser.add_argument("--trials", type=int, default=300)
    asked = parser.parse_args()
    base, other = (read_scores(run, MEASURES) for run in ("bm25", "hybrid"))
    print("queries                     found  without warning  findings warned of")
    for queries in asked.queries:
        for share in asked.lost:
            samples = [skew(other, queries, share, seed) for seed in range(asked.trials)]
            print(f"{queries:>7}  {share:>4.0%} lose all     {describe(samples)}", flush=True)
        samples = [sample(other - base, queries, seed) for seed in range(asked.trials)]
        print(f"{queries:>7}  hybrid and bm25   {describe(samples)}", flush=True)


def skew(scores: Numbers, queries: int, share: float, seed: int) -> Numbers:
    """Return differences of mean 0 in truth: a share of the queries loses all, the others gain."""
    rng = np.random.default_rng((queries, round(1000 * share), seed))
    base = scores[rng.integers(len(scores), size=queries)]
    gain = share * scores.mean(axis=0) / (1 - share)
    return np.where(rng.random((queries, 1)) < share, -base, gain)


def sample(differences: Numbers, queries: int, seed: int) -> Numbers:
    """Return a sample of the queries' differences."""
    rng = np.random.default_rng((queries, seed))
    return differences[rng.integers(len(differences), size=queries)]


def describe(samples: list[Numbers]) -> str:
    """Return the rates as a row."""
    found, bare, findings, warned = 0, 0, 0, 0
    for differences in samples:
        shown = np.array(randomise_family(differences).adjusted) <= ALPHA
        resting = [presumes_symmetry(column.tolist(), 1.0) for column in differences.T]
        found += bool(shown.any())
        bare += bool(np.any(shown & ~np.array(resting)))
        findings += int(shown.sum())
        warned += int(np.sum(shown & np.array(resting)))
    return (
        f"{found / len(samples):5.3f}  {bare / len(samples):15.3f}  {warned / max(findings, 1):.3f}"
    )


if __name__ == "__main__":
    main()
