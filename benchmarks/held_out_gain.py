"""`python -m benchmarks.held_out_gain`: how often intervals of a held-out gain hold it, by method.

Queries are drawn on which each point gains, in truth, a known amount over the config as given. The
gain to be held is that of the choice: what the points that the folds choose gain in truth, in the
mean over folds and trials. A choice rests on the queries of all folds but one. Half of the variance
of a query's gains is shared by all points. No point gains (`none`), one does (`one`), or they are
spread evenly from losing to gaining as much (`spread`), by .05 each. Measures are `graded`, graded
with 70 % of a point's gains at 0 (`mostly 0`), or `0 or 1`, where a point moves 10 % of the
queries.

Printed are the share of intervals at 95 % that hold the gain and their mean half width: of per-
query means taken as independent (`over queries`), of the corrected variance of the folds' means
(Nadeau and Bengio 2003), of nested cross-validation (Bates, Hastie and Tibshirani 2023), and as
this project does it. Of the latter, `of the best` is the share that holds what the best point gains
in truth, and `no interval` the share of trials without one. `worth taking` is the share with that
verdict.
"""

import argparse
from collections.abc import Callable

import numpy as np
import scipy

from assay.eval import no_telemetry
from assay.eval.statistics.estimates import TAIL, estimate_mean
from assay.eval.statistics.significance import ALPHA
from assay.eval.studies.tuning.nested_cv import (
    Design,
    Integers,
    Matrix,
    choose,
    deal,
    estimate_gain,
    hold_out,
    randomise_gains,
)

no_telemetry.disable()
EFFECT = 0.05
SPREAD = 0.2  # standard deviation of a graded gain
ZERO, MOVED = 0.7, 0.1
CHANGE = (-1.0, 1.0)
FLIPS = 199
EXACT = 1e-9

Draw = Callable[[np.random.Generator, int, Matrix], Matrix]
Ends = tuple[float, float]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, nargs="+", default=[30, 60, 250])
    parser.add_argument("--points", type=int, nargs="+", default=[5, 20, 60])
    parser.add_argument("--trials", type=int, default=300)
    asked = parser.parse_args()
    names = [*METHODS, "taken", "of the best", "no interval", "worth taking"]
    print(f"{'measure':<10}{'gains':<8}{'n':>4}{'points':>7}" + "".join(f"{_:>15}" for _ in names))
    for measure, draw in DRAWS.items():
        for gains, make in GAINS.items():
            for n in asked.queries:
                for points in asked.points:
                    row = describe(draw, make(points), n, asked.trials)
                    print(f"{measure:<10}{gains:<8}{n:>4}{points:>7}{row}", flush=True)


def draw_graded(rng: np.random.Generator, n: int, truth: Matrix) -> Matrix:
    """Return normal gains, of shape (points, n)."""
    shared, own = rng.standard_normal(n), rng.standard_normal((len(truth), n))
    return SPREAD * (shared + own) / np.sqrt(2) + truth[:, None]


def draw_mostly_zero(rng: np.random.Generator, n: int, truth: Matrix) -> Matrix:
    """Return graded gains of which most are 0."""
    moved = rng.random((len(truth), n)) >= ZERO
    return draw_graded(rng, n, truth / (1 - ZERO)) * moved


def draw_binary(rng: np.random.Generator, n: int, truth: Matrix) -> Matrix:
    """Return gains of 1, 0 and -1."""
    shared, own = rng.random(n), rng.random((len(truth), n))
    place = np.where(rng.random(own.shape) < 0.5, shared, own)
    up, down = (MOVED + truth) / 2, (MOVED - truth) / 2
    return (place < up[:, None]).astype(float) - (place > 1 - down[:, None])


def describe(draw: Draw, truth: Matrix, n: int, trials: int) -> str:
    """Return how often each method holds the gain, and its half width, as a row."""
    known = np.concatenate([[0.0], truth])
    of_choice, of_best = [], []
    ends: dict[str, list[Ends]] = {name: [] for name in METHODS}
    taken: list[Ends | None] = []
    worth = 0
    groups = np.arange(n)
    for seed in range(trials):
        rng = np.random.default_rng((n, len(truth), seed))
        gains = np.vstack([np.zeros(n), draw(rng, n, truth)])
        folds = deal([""] * n, groups, Design(seed=seed))
        held = hold_out(gains, folds)
        of_choice.append(held.chosen @ known / held.chosen.sum())
        best = int(choose(gains.mean(axis=1)[:, None])[0])
        of_best.append(known[best])
        for name, method in METHODS.items():
            ends[name].append(method(gains, folds))
        found = estimate_gain(gains, groups, folds, CHANGE)
        missing = found.low is None or found.high is None
        taken.append(None if missing else (found.low, found.high))  # type: ignore[arg-type]
        p = randomise_gains(gains, groups, folds, FLIPS)
        worth += best > 0 and not missing and p <= ALPHA
    gain = float(np.mean(of_choice))
    cells = [_describe(pairs, [gain] * trials) for pairs in ends.values()]
    shown = [pair for pair in taken if pair]
    cells.append(_describe(shown, [gain] * len(shown)))
    written = [i for i, pair in zip(of_best, taken, strict=True) if pair]
    shares = (hold(shown, written), 1 - len(shown) / trials, worth / trials)
    return "".join([*cells, *(f"{share:15.3f}" for share in shares)])


def hold(ends: list[Ends], truth: list[float]) -> float:
    """Return the share of intervals that hold what is true of each."""
    held = [low - EXACT <= i <= high + EXACT for (low, high), i in zip(ends, truth, strict=True)]
    return float(np.mean(held)) if held else np.nan


def _describe(ends: list[Ends], truth: list[float]) -> str:
    half = np.mean([high - low for low, high in ends]) / 2 if ends else np.nan
    return f"{hold(ends, truth):7.3f} ({half:.3f})"


def take_queries(gains: Matrix, folds: Integers) -> Ends:
    """Return Student's interval of per-query means, as though they were independent."""
    found = estimate_mean(hold_out(gains, folds).gains.tolist(), CHANGE)
    return found.low, found.high


def correct_variance(gains: Matrix, folds: Integers) -> Ends:
    """Return the interval by the variance times 1 / JK + 1 / (K - 1), with JK - 1 df."""
    size = int(folds.max()) + 1
    means = []
    for row in folds:
        held = hold_out(gains, row[None]).gains
        means += [held[row == fold].mean() for fold in range(size)]
    error = np.sqrt(np.var(means, ddof=1) * (1 / len(means) + 1 / (size - 1)))
    half = scipy.stats.t.ppf(1 - TAIL, len(means) - 1) * error
    return np.mean(means) - half, np.mean(means) + half


def nest(gains: Matrix, folds: Integers) -> Ends:
    """Return the interval of nested cross-validation, as the authors' package makes it."""
    size, n = int(folds.max()) + 1, gains.shape[1]
    outer, inner, excess = [], [], []
    for row in folds:
        left_out = (row[:, None] == np.arange(size)).astype(float)
        sums, sizes = gains @ left_out, left_out.sum(axis=0)
        for fold in range(size):
            held = _score(gains, sums, sizes, row, (fold,))
            others = [i for i in range(size) if i != fold]
            within = [_score(gains, sums, sizes, row, (i, fold)) for i in others]
            mean = np.concatenate(within).mean()
            outer.append(held)
            inner.append(mean)
            excess.append((mean - held.mean()) ** 2 - np.var(held, ddof=1) / len(held))
    every = np.concatenate(outer)
    error = np.std(every, ddof=1) / np.sqrt(n)
    if not error:
        return 0.0, 0.0
    wanted = np.sqrt(max(0.0, (size - 1) / size * np.mean(excess)))
    error *= np.clip(wanted / error, 1, np.sqrt(size))
    bias = (1 + (size - 2) / size) * (np.mean(inner) - every.mean())
    value, half = np.mean(inner) - bias, scipy.stats.norm.ppf(1 - TAIL) * error
    return value - half, value + half


def _score(
    gains: Matrix, sums: Matrix, sizes: Matrix, row: Integers, out: tuple[int, ...]
) -> Matrix:
    """Return the gains, in the first fold of `out`, of the point best on the folds not in it."""
    seen = (sums.sum(axis=1) - sums[:, out].sum(axis=1)) / (sizes.sum() - sizes[list(out)].sum())
    scores: Matrix = gains[choose(seen[:, None])[0], row == out[0]]
    return scores


DRAWS: dict[str, Draw] = {
    "graded": draw_graded,
    "mostly 0": draw_mostly_zero,
    "0 or 1": draw_binary,
}
GAINS: dict[str, Callable[[int], Matrix]] = {
    "none": np.zeros,
    "one": lambda points: np.eye(1, points)[0] * EFFECT,
    "spread": lambda points: np.linspace(-EFFECT, EFFECT, points),
}
METHODS: dict[str, Callable[[Matrix, Integers], Ends]] = {
    "over queries": take_queries,
    "Nadeau-Bengio": correct_variance,
    "nested": nest,
}

if __name__ == "__main__":
    main()
