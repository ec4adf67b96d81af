"""CPU seconds of commands that are called again and again on stored runs.

`python -m benchmarks.commands` makes runs of BM25 that differ in k1 and b, with a cache, a folder
of reports and an MLflow store of their own, and calls each command in a process of its own. CPU
seconds are compared, which other processes disturb less than time.
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


@ending_in_one_line()
def main(arguments: Sequence[str] | None = None) -> None:
    """Print CPU seconds by command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commands", description=__doc__)
    parser.add_argument("--collection", default="tarnwick")
    parser.add_argument("--runs", type=int, default=20)
    args = parser.parse_args(arguments)
    pairs = list_constants(args.runs)
    with TemporaryDirectory() as made:
        folder = Path(made)

        def tell(what: str, *words: str) -> None:
            print(f"{what:<36} {call(folder, *words):6.1f} s CPU", flush=True)

        cold = "run", str(CONFIG), f"dataset={args.collection}", "--no-track"
        call(folder / "first", *cold)  # which writes bytecode
        taken = call(folder / "second", *cold)
        print(f"{'run, nothing cached, no MLflow':<36} {taken:6.1f} s CPU", flush=True)
        for number, (k1, b) in enumerate(pairs):
            words = str(CONFIG), f"dataset={args.collection}", f"{LEG}.k1={k1}", f"{LEG}.b={b}"
            if number:
                call(folder, "run", *words)
            else:
                tell("run, nothing cached", "run", *words)
                tell("run again, unchanged", "run", *words)
        runs = sorted(path.parent.name for path in (folder / "reports").glob("*/manifest.json"))
        for some in dict.fromkeys((2, 3, len(runs))):
            tell(f"compare {some} runs, no MLflow", "compare", *runs[:some], "--no-track")
        tell(f"compare {len(runs)} runs, to MLflow", "compare", *runs)
        tell(f"compare {len(runs)} runs again", "compare", *runs)


def list_constants(runs: int) -> list[tuple[float, float]]:
    """Return as many pairs of k1 and b, all different: ten values of k1 with each of b."""
    across = min(runs, 10)
    down = -(-runs // across)
    k1s = [round(0.3 + 2.7 * i / across, 3) for i in range(across)]
    bs = [round((i + 1) / (down + 1), 3) for i in range(down)]
    return [(k1, b) for k1 in k1s for b in bs][:runs]


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


if __name__ == "__main__":
    main()
