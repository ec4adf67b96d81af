"""`python -m benchmarks.same_pipeline`: how often a pipeline is told not to be as fast as itself.

A config is timed by turns with itself, again and again, alone and beside a busy loop. The 95 %
interval of the ratio should hold 1 in 19 of 20.
"""

import argparse
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.eval import no_telemetry
from assay.eval.collections.loading import load
from assay.eval.configs.config import load_config
from assay.eval.configs.resources import make_resources
from assay.eval.running.timing import System, time_together
from assay.eval.runs.latency import choose_spaced
from assay.eval.statistics.estimates import Estimate, estimate_percentile_ratio
from assay.retrievers.base import Quiet
from benchmarks.latency import ending_in_one_line

no_telemetry.disable()
ROOT = Path(__file__).resolve().parents[1]
PERCENTILES = (50, 95)
LEVEL = 0.9  # the share of intervals that must hold 1


@ending_in_one_line()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configs", nargs="+", default=["bm25", "hybrid_rrf"])
    parser.add_argument("--dataset", default="harbourline")
    parser.add_argument("--trials", type=int, default=50)
    asked = parser.parse_args()
    print(f"{'config':<12} {'beside':<6} of   hold 1  ratios        90 %")
    for name in asked.configs:
        for busy in (False, True):
            with neighbour(busy):
                ratios = list(time_with_itself(name, asked.dataset, asked.trials))
            for percent, found in zip(PERCENTILES, zip(*ratios, strict=True), strict=True):
                held = sum(ratio.low <= 1 <= ratio.high for ratio in found)
                values = sorted(ratio.value for ratio in found)
                print(
                    f"{name:<12} {'busy' if busy else 'alone':<6} p{percent:<3} "
                    f"{held:>3}/{len(found):<3} {values[0]:.2f} … {values[-1]:.2f}   "
                    f"{'holds' if held >= LEVEL * len(found) else 'missed'}",
                    flush=True,
                )


def time_with_itself(name: str, dataset: str, trials: int) -> Iterator[tuple[Estimate, ...]]:
    """Yield the ratios of a config's percentiles to its own, trial by trial."""
    config = load_config(ROOT / "configs" / f"{name}.yaml", [f"dataset={dataset}"])
    collection = load(dataset)
    queries = choose_spaced([(q.id, q.text) for q in collection.queries], config.latency.queries)
    system = System(lambda: config.build(make_resources(Quiet())), config.depth)
    for _ in range(trials):
        timing = time_together(
            {"one": system, "other": system}, collection, config.latency, queries, Quiet()
        )
        one, other = timing.milliseconds.values()
        yield tuple(estimate_percentile_ratio(one, other, percent) for percent in PERCENTILES)


@contextmanager
def neighbour(busy: bool) -> Iterator[None]:
    """Keep a process busy on the side."""
    process = multiprocessing.get_context("spawn").Process(target=_spin, daemon=True)
    if busy:
        process.start()
    try:
        yield
    finally:
        if busy:
            process.kill()
            process.join()


def _spin() -> None:
    while True:
        sum(range(10_000))


if __name__ == "__main__":
    main()
