"""`python -m benchmarks.families RUN`: how often a comparison errs, and what it finds.

The scores of a stored run are resampled, query by query. In runs beside it that are no better a
share of the queries has the scores of other queries, so that up and down are equally likely. Three
cases are drawn: no run differs; half of the runs gain in nDCG@10, and in nothing else; one run has
a share of its queries raised to 1 in all measures, so that it gains `--gain` in nDCG@10.

Counted are the trials with any false finding: in the headline measure, in the other measures, in
either, and that types of query differ (each query has one of twelve, by chance). The second case
also by a family of only the measures of runs whose headline is shown, which is chosen by the
queries that it is tested on. Of the gain: how often the headline measure shows it, by itself,
among the runs, and where all measures are one family as they once were; and how often "no
difference shown" is said of it, at the detectable difference of the family, and of one test.

With `--all-pairs` runs are compared with one another, not with the base alone: the first two cases
are counted, where runs that gain are equal to one another, and so are those that do not.
"""

import argparse
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assay import load_runs
from assay.eval import no_telemetry
from assay.eval.statistics.heterogeneity import compare_groups
from assay.eval.statistics.max_t import randomise_family
from assay.eval.statistics.significance import ALPHA
from assay.eval.studies.comparison.differences import Contrast, Difference
from assay.eval.studies.comparison.gatekeeping import judge_stages

no_telemetry.disable()
MEASURES = ("nDCG@10", "MRR@10", "Hit@1", "Hit@5", "Recall@20", "Recall@2000tok")
MOVED = 0.1
TYPES = 12
SHARED = 0.12  # of the queries, that gain in nDCG@10 alone in the second case
EFFECT = 0.05
HEADINGS = (
    "nothing differs: headline, others, either, types",
    "half gain: headline, others, either, others of open gates",
    "gain found: alone, headline, one family",
    "called no difference: family, alone",
)

Numbers = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", help="a stored run: its id, or the beginning of one")
    parser.add_argument("--queries", type=int, nargs="+", default=[60, 150])
    parser.add_argument("--others", type=int, nargs="+", default=[1, 5, 20])
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--gain", type=float, default=EFFECT)
    parser.add_argument("--all-pairs", action="store_true")
    asked = parser.parse_args()
    (run,) = load_runs(asked.run)
    scores = run.per_query[list(MEASURES)].to_numpy(float)
    if asked.all_pairs:
        print("| queries | runs | pairs | nothing differs | half gain |\n|---|---|---|---|---|")
        for queries in asked.queries:
            for others in asked.others:
                print(describe_pairs(scores, queries, others, asked.trials), flush=True)
        return
    print(f"| queries | runs | {' | '.join(HEADINGS)} |\n|---|---|{'---|' * len(HEADINGS)}")
    for queries in asked.queries:
        for others in asked.others:
            print(describe(scores, queries, others, asked.trials, asked.gain), flush=True)


def describe(scores: Numbers, queries: int, others: int, trials: int, gain: float) -> str:
    """Return the rates of the four groups of columns, as a row."""
    quiet, half, found, told = np.zeros(4), np.zeros(4), np.zeros(3), np.zeros(2)
    raised = gain / (1 - scores[:, 0].mean())
    for seed in range(trials):
        rng = np.random.default_rng((seed, queries, others))
        base = scores[rng.integers(len(scores), size=queries)]
        runs = [resample(base, scores, rng) for _ in range(others)]
        kinds = rng.integers(TYPES, size=queries)
        quiet += count_false(judge(base, runs), set())
        quiet[3] += (
            min(compare_groups(np.stack([run - base for run in runs])[:, :, 0].T, kinds)) <= ALPHA
        )

        gaining = set(range((others + 1) // 2))
        partly = [lift(run, base, rng) if i in gaining else run for i, run in enumerate(runs)]
        judged = judge(base, partly)
        half += count_false(judged, gaining)
        half[3] += err_behind_open_gates(base, partly, judged)

        better = np.where(rng.random((queries, 1)) < raised, 1.0, runs[0])
        rows = judge(base, [better, *runs[1:]])
        first = rows[0][0]
        family = np.hstack([run - base for run in (better, *runs[1:])])
        found += [
            first.p is not None and first.p <= ALPHA,
            first.shown,
            randomise_family(family).adjusted[0] <= ALPHA,
        ]
        alone = first.detectable_alone
        told += [
            first.verdict == "no difference shown",
            not first.shown and alone is not None and alone <= EFFECT,
        ]
    cells = [
        " ".join(f"{rate:.3f}".lstrip("0") for rate in row / trials)
        for row in (quiet, half, found, told)
    ]
    return f"| {queries} | {others} | {' | '.join(cells)} |"


def describe_pairs(scores: Numbers, queries: int, others: int, trials: int) -> str:
    """Return the rates of headline, others and either of the first two cases, of all pairs."""
    rates = np.zeros((2, 3))
    pairs = list(combinations(range(others + 1), 2))
    for seed in range(trials):
        rng = np.random.default_rng((seed, queries, others))
        base = scores[rng.integers(len(scores), size=queries)]
        runs = [base, *(resample(base, scores, rng) for _ in range(others))]
        gaining = set(range(1, (others + 3) // 2))
        partly = [lift(run, base, rng) if i in gaining else run for i, run in enumerate(runs)]
        unlike = {i for i, pair in enumerate(pairs) if len(gaining & set(pair)) == 1}
        for i, (drawn, differ) in enumerate(((runs, set()), (partly, unlike))):
            judged = judge_pairs([(drawn[one], drawn[two]) for one, two in pairs])
            rates[i] += count_false(judged, differ)[:3]
    cells = [" ".join(f"{rate:.3f}".lstrip("0") for rate in row / trials) for row in rates]
    return f"| {queries} | {others + 1} | {len(pairs)} | {' | '.join(cells)} |"


def resample(base: Numbers, scores: Numbers, rng: np.random.Generator) -> Numbers:
    """Return `base` with a share of its rows replaced by others of `scores`."""
    other = scores[rng.integers(len(scores), size=len(base))]
    return np.where(rng.random((len(base), 1)) < MOVED, other, base)


def lift(run: Numbers, base: Numbers, rng: np.random.Generator) -> Numbers:
    """Return `run` with a share of its queries raised to 1 in the headline measure alone."""
    lifted = run.copy()
    lifted[:, 0] = np.where(rng.random(len(base)) < SHARED, 1.0, run[:, 0])
    return lifted


def judge(base: Numbers, runs: Sequence[Numbers]) -> list[list[Difference]]:
    """Return the differences of each run, as a comparison judges them."""
    return judge_pairs([(base, run) for run in runs])


def judge_pairs(pairs: Sequence[tuple[Numbers, Numbers]]) -> list[list[Difference]]:
    """Return the differences of each pair of runs, judged as one family."""
    contrasts = [
        [
            Contrast(name, "", dict(enumerate(old)), dict(enumerate(new)))
            for name, old, new in zip(MEASURES, one.T.tolist(), two.T.tolist(), strict=True)
        ]
        for one, two in pairs
    ]
    return [[item.difference for item in part] for part in judge_stages(contrasts, EFFECT, ())]


def count_false(judged: Sequence[Sequence[Difference]], gaining: set[int]) -> list[float]:
    """Return whether the headline is falsely shown, another measure is, and either; and 0.

    `gaining` are the places of those whose headline differs in truth; in no other measure any does.
    """
    headline = any(rows[0].shown for i, rows in enumerate(judged) if i not in gaining)
    others = any(item.shown for rows in judged for item in rows[1:])
    return [headline, others, headline or others, 0.0]


def err_behind_open_gates(
    base: Numbers, runs: Sequence[Numbers], judged: Sequence[Sequence[Difference]]
) -> bool:
    """Return whether another measure is shown where only those of shown runs are the family."""
    columns = [
        run[:, 1:] - base[:, 1:] for run, rows in zip(runs, judged, strict=True) if rows[0].shown
    ]
    return bool(columns) and min(randomise_family(np.hstack(columns)).adjusted) <= ALPHA


if __name__ == "__main__":
    main()
