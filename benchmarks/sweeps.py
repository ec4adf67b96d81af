"""What a sweep of many points costs, beside running some of them one by one.

`python -m benchmarks.sweeps` gives both a cache and a folder of reports of their own, and each run
a process of its own. CPU seconds are compared, which other processes disturb less than time. The
first run alone fills the cache, and is not counted.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.latency import ending_in_one_line
from benchmarks.scoring import ASSAY, spend

CONFIG = Path(__file__).parents[1] / "configs" / "bm25.yaml"
LEG = "retriever.legs.keyword"


def list_constants(points: int) -> tuple[list[float], list[float]]:
    """Return values of k1, ten at most, and of b, which together span at least so many points."""
    across = min(points, 10)
    down = -(-points // across)
    spread = [round(0.3 + 2.7 * i / across, 3) for i in range(across)]
    return spread, [round((i + 1) / (down + 1), 3) for i in range(down)]


def call(folder: Path, *words: str) -> float:
    """Return the CPU seconds of a command that keeps all it makes in `folder`.

    It keeps bytecode, as an installed package does.
    """
    return spend(
        [sys.executable, ASSAY, *words, "--json"],
        PYTHONDONTWRITEBYTECODE="",
        ASSAY_CACHE=str(folder / "cache"),
        ASSAY_REPORTS=str(folder / "reports"),
        MLFLOW_TRACKING_URI=f"sqlite:///{folder}/mlflow.db",
    )


def run_alone(folder: Path, collection: str, pairs: Sequence[tuple[float, float]]) -> float:
    """Return the mean CPU seconds of runs one by one, the first of them left out."""
    taken = [
        call(folder, "run", str(CONFIG), f"dataset={collection}", f"{LEG}.k1={k1}", f"{LEG}.b={b}")
        for k1, b in pairs
    ]
    return sum(taken[1:]) / len(taken[1:])


@ending_in_one_line()
def main(arguments: Sequence[str] | None = None) -> None:
    """Print CPU seconds and their ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweeps", description=__doc__)
    parser.add_argument("--collection", default="scifact")
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--alone", type=int, default=10, help="points that are run one by one too")
    args = parser.parse_args(arguments)
    k1s, bs = list_constants(args.points)
    pairs = [(k1, b) for k1 in k1s for b in bs]
    with TemporaryDirectory() as made:
        one, many = Path(made) / "alone", Path(made) / "sweep"
        many.mkdir()
        one.mkdir()
        step = max(1, len(pairs) // (args.alone + 1))
        alone = run_alone(one, args.collection, pairs[::step][: args.alone + 1])
        file = many / "points.yaml"
        file.write_text(
            f"base: {CONFIG}\naxes: {{{LEG}.k1: {k1s}, {LEG}.b: {bs}}}\n"
            f"collections: ['{args.collection}']\n"
        )
        whole = len(pairs) * alone
        print(f"one by one   {alone:8.2f} s CPU a point, {len(pairs)} points {whole:.0f} s")
        for label in ("sweep", "sweep again"):
            taken = call(many, "sweep", str(file))
            ratio = f"1/{whole / taken:.1f} of one by one"
            print(f"{label:<12} {taken / len(pairs):8.2f} s CPU a point, {taken:.0f} s: {ratio}")


if __name__ == "__main__":
    main()
