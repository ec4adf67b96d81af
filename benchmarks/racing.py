"""How often racing drops what it must not, and how many searches it saves.

`python -m benchmarks.racing` races points again and again, each time with the queries in another
order. Real cases are the scores of a grid of BM25 points on each collection; the others are made so
that dropping is easy to get wrong. A race has gone wrong where no point kept has a mean over all
queries within the effect of the best; that must happen in no more than the risk.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from assay.eval import no_telemetry
from assay.eval.configs.resources import make_resources
from assay.eval.running.runner import Runner
from assay.eval.statistics.estimates import SEED, estimate_share
from assay.eval.studies.sweep.racing import Race, RaceRules, run_race
from assay.eval.studies.sweep.running import list_tasks, read_sweep
from benchmarks.latency import ending_in_one_line
from benchmarks.sweeps import CONFIG, LEG, list_constants

MEASURE = "nDCG@10"
Scores = NDArray[np.float64]  # of shape (points, queries)


def search_grid(collection: str, points: int) -> Scores:
    """Return the scores of a grid of BM25 points on a collection."""
    k1s, bs = list_constants(points)
    with TemporaryDirectory() as made:
        file = Path(made) / "points.yaml"
        file.write_text(
            f"base: {CONFIG}\naxes: {{{LEG}.k1: {k1s}, {LEG}.b: {bs}}}\n"
            f"collections: ['{collection}']\n"
        )
        tasks = list_tasks(file, read_sweep(file), ["latency.queries=0"])
        runner = Runner(MEASURE, make_resources(), Path(made) / "reports", stored=False)
        done = [item.result for item in runner.run(tasks)]
    return np.array([list(item.figures.scores[MEASURE].values()) for item in done if item.figures])


def list_made(points: int, queries: int, effect: float) -> Iterator[tuple[str, Scores]]:
    """Yield cases by name: all alike, and one ahead of all others by just the effect."""
    draw = np.random.default_rng(SEED)
    shared = draw.random(queries) * (draw.random(queries) < 0.7)
    yield "all alike", np.tile(shared, (points, 1))
    noise = draw.normal(0, 0.2, (points, queries))
    yield "null, scattered", np.clip(shared + noise, 0, 1)
    ahead = np.tile(0.9 * shared, (points, 1))
    ahead[points // 2] += effect
    yield "one ahead a little everywhere", np.clip(ahead, 0, 1)
    rare = np.tile(np.where(np.arange(queries) < 0.3 * queries, 0.0, shared), (points, 1))
    rare[points // 2, : int(np.ceil(effect * queries))] = 1
    yield "one ahead in a few queries", rare


def race(scores: Scores, rules: RaceRules) -> tuple[Race, bool]:
    """Race the rows in an order of its own; return also whether that went wrong."""
    points, queries = scores.shape
    mixed = scores[:, np.random.default_rng(rules.seed).permutation(queries)]
    done = run_race(
        points, queries, 1.0, rules, lambda places, seen: {i: mixed[i, :seen] for i in places}
    )
    means = scores.mean(axis=1)
    kept = max(means[i] for i in range(points) if i not in done.drops)
    return done, bool(kept <= means.max() - rules.effect)


@ending_in_one_line()
def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row a case; end the process with 1 where a risk is shown to be exceeded."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.racing", description=__doc__)
    parser.add_argument("--collections", nargs="*", default=["harbourline", "scifact"])
    parser.add_argument("--points", type=int, default=50)
    parser.add_argument("--queries", type=int, default=300, help="of the cases that are made")
    parser.add_argument("--races", type=int, default=1000)
    parser.add_argument("--effects", nargs="+", type=float, default=[0.05, 0.02])
    parser.add_argument("--risk", type=float, default=RaceRules().risk)
    args = parser.parse_args(arguments)
    no_telemetry.disable()
    real = [(name, search_grid(name, args.points)) for name in args.collections]
    exceeded = False
    print(f"{'case':<32} queries effect  wrong (95 %)         best dropped  kept  searches saved")
    for effect in args.effects:
        for name, scores in [*real, *list_made(args.points, args.queries, effect)]:
            best = int(scores.mean(axis=1).argmax())
            races = [race(scores, RaceRules(args.risk, effect, seed)) for seed in range(args.races)]
            wrong = estimate_share(sum(failed for _, failed in races), len(races))
            dropped = np.mean([best in done.drops for done, _ in races])
            kept = np.mean([done.points - len(done.drops) for done, _ in races])
            saved = np.mean([done.saved for done, _ in races])
            exceeded |= wrong.low > args.risk
            interval = f"({wrong.low:.3f} – {wrong.high:.3f})"
            print(
                f"{name:<32} {scores.shape[1]:>7} {effect:>6g}  {wrong.value:.3f} {interval}"
                f"  {dropped:>8.3f} {kept:>9.1f} {saved:>10.2f}",
                flush=True,
            )
    sys.exit(exceeded)


if __name__ == "__main__":
    main()
