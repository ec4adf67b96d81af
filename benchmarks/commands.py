"""CPU seconds of commands that are called again and again on stored runs.

`python -m benchmarks.commands` makes runs of BM25 that differ in k1 and b, with a cache, a folder
of reports and an MLflow store of their own, and calls each command in a process of its own, thrice
if it changes nothing. The least CPU seconds count, which other processes disturb less than time.
Beside them stand what is wanted, and the budget: what a command took when the budget was last
lowered, and a quarter more. Ends with 1 where a command takes more than its budget.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from subprocess import CalledProcessError
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.latency import ending_in_one_line
from benchmarks.scoring import ASSAY, spend

CONFIG = Path(__file__).parents[1] / "configs" / "bm25.yaml"
LEG = "retriever.legs.keyword"
REPEATS = 3
HEADS = ("command", "CPU s", "budget", "wanted")


class Limit(NamedTuple):
    """The most CPU seconds of a command, on tarnwick, and those that are wanted."""

    budget: float
    wanted: float


LIMITS = {
    "run, nothing cached, no MLflow": Limit(10.5, 3.0),
    "run, nothing cached": Limit(14.0, 4.5),
    "run again, unchanged": Limit(2.4, 0.8),
    "search": Limit(1.1, 0.8),
    "explain": Limit(0.9, 0.8),
    "gate": Limit(3.7, 0.8),
    "gate of files": Limit(2.6, 0.8),
    "compare 2 runs": Limit(3.5, 0.8),
    "compare 2 runs again": Limit(1.8, 0.8),
}


@ending_in_one_line()
def main(arguments: Sequence[str] | None = None) -> None:
    """Print CPU seconds by command; end the process with 1 where one is beyond its budget."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commands", description=__doc__)
    parser.add_argument("--collection", default="tarnwick")
    parser.add_argument("--runs", type=int, default=20, help="compared with one another, from 3")
    args = parser.parse_args(arguments)
    beyond = []
    print("{:<34} {:>6} {:>7} {:>7}".format(*HEADS))
    for name, taken in measure(args.collection, max(args.runs, 3)):
        limit = LIMITS.get(name)
        told = f" {limit.budget:7.2f} {limit.wanted:7.2f}" if limit else ""
        print(f"{name:<34} {taken:6.2f}{told}", flush=True)
        if limit and taken > limit.budget:
            beyond.append(name)
    if beyond:
        print(f"beyond the budget: {', '.join(beyond)}")
    sys.exit(bool(beyond))


def measure(collection: str, count: int) -> Iterator[tuple[str, float]]:
    """Yield the name and the CPU seconds of each command, with `count` runs in all."""
    pairs = list_constants(count)
    of = f"dataset={collection}"
    with TemporaryDirectory() as made:
        folder = Path(made)
        call(folder / "first", "run", str(CONFIG), of, "--no-track")  # which writes bytecode
        taken = call(folder / "second", "run", str(CONFIG), of, "--no-track")
        yield "run, nothing cached, no MLflow", taken
        for number, (k1, b) in enumerate(pairs):
            words = "run", str(CONFIG), of, f"{LEG}.k1={k1}", f"{LEG}.b={b}"
            taken = call(folder, *words)
            if not number:
                yield "run, nothing cached", taken
                yield "run again, unchanged", repeat(folder, *words)
        reports = folder / "reports"
        runs = sorted(path.parent.name for path in reports.glob("*/manifest.json"))
        rankings, qrels = (str(reports / runs[0] / name) for name in ("run.trec", "qrels.trec"))
        yield "search", repeat(folder, "search", str(CONFIG), "fee", of)
        yield "explain", repeat(folder, "explain", runs[0])
        files = rankings, "--baseline", rankings, "--qrels", qrels, "--missing", "zero"
        yield "gate of files", repeat(folder, "gate", *files)
        try:
            call(folder, "baseline", "accept", runs[0])
        except CalledProcessError:
            print("gate: needs a run of committed code", file=sys.stderr)
        else:
            yield "gate", repeat(folder, "gate", runs[0])
        for some in dict.fromkeys((2, 3, count)):
            words = "compare", *runs[:some], "--no-track"
            yield f"compare {some} runs", call(folder, *words)
            yield f"compare {some} runs again", repeat(folder, *words)
        yield f"compare {count} runs, to MLflow", call(folder, "compare", *runs)


def repeat(folder: Path, *words: str) -> float:
    """Return the least CPU seconds of a few calls."""
    return min(call(folder, *words) for _ in range(REPEATS))


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
