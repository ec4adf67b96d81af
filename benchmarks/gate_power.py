"""`python -m benchmarks.gate_power`: does the gate find drops as often as it states?

The scores are those of the committed baseline of `bm25` on the dev queries of `tarnwick`, of which
as many as a collection might have are drawn with replacement. A share of them moves either way, by
the scores of other queries. The gate states its power for drops of several sizes without seeing
them; then the gate judges as many other runs with such a drop, once taken from all queries alike,
once as everything from a few.
"""

import argparse

import numpy as np

from assay.eval import no_telemetry
from assay.eval.studies.gate.foresight import foresee
from assay.eval.studies.gate.rule import find_regressions
from assay.eval.studies.gate.settings import GateSettings
from benchmarks.intervals import Numbers, read_scores

no_telemetry.disable()
RUN = "bm25"
PILOTS = 20
DROPS = (0.03, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, nargs="+", default=[60, 250])
    parser.add_argument("--moved", type=float, nargs="+", default=[0.0, 0.1])
    parser.add_argument("--trials", type=int, default=400)
    asked = parser.parse_args()
    settings = GateSettings()
    scores = read_scores(RUN, tuple(settings.measures))
    print("                        stated for a drop       found in a drop")
    print("queries  moved   drop   spread   sparse   least   spread   sparse")
    for queries in asked.queries:
        for moved in asked.moved:
            for drop in DROPS:
                row = describe(scores, queries, moved, drop, asked.trials, settings)
                print(f"{queries:>7} {moved:>6.0%} {drop:>6.2f}   {row}", flush=True)


def describe(
    scores: Numbers, queries: int, moved: float, drop: float, trials: int, settings: GateSettings
) -> str:
    """Return the power stated and the share of drops of the first measure found, as a row."""
    stated = []
    for seed in range(PILOTS):
        base, head, _ = draw(scores, queries, moved, 0.0, seed)
        critical = find_regressions(head - base, settings)[1].critical
        power = next(foresee(base, head - base, critical, settings))
        stated.append((power.state_spread(drop), power.state_sparse(drop), power.state(drop)))
    found = np.zeros(2)
    for seed in range(PILOTS, PILOTS + trials):
        share = drop / scores[:, 0].mean()
        base, head, sparse = draw(scores, queries, moved, share, seed)
        found += (
            find_regressions(head - drop - base, settings)[0][0],
            find_regressions(sparse - base, settings)[0][0],
        )
    cells = [*np.mean(stated, axis=0), *(found / trials)]
    return "   ".join(f"{cell:6.2f}" for cell in cells)


def draw(
    scores: Numbers, queries: int, moved: float, lost: float, seed: int
) -> tuple[Numbers, Numbers, Numbers]:
    """Return a base, a run that did not change on average, and that run where some lost all."""
    rng = np.random.default_rng((queries, round(1000 * moved), seed))
    base = scores[rng.integers(len(scores), size=queries)]
    other = scores[rng.integers(len(scores), size=queries)]
    head = np.where(rng.random((queries, 1)) < moved, other, base)
    return base, head, np.where(rng.random((queries, 1)) < lost, 0.0, head)


if __name__ == "__main__":
    main()
