"""What a sweep and a tuning of many points hold in memory at most, beside those of a few.

`python -m benchmarks.sweep_memory` runs points of BM25 over analyzers, k1 and b, each command in a
process of its own with a cache of its own; indexes that are mapped from their files count too.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.scoring import ASSAY
from benchmarks.sweeps import CONFIG, LEG

ANALYZERS = ("english", "porter", "french", "words", "plain", "code")


def hold(folder: Path, *words: str) -> float:
    """Return the most MB that a command held, all it makes being kept in `folder`."""
    places = {
        "ASSAY_CACHE": str(folder / "cache"),
        "ASSAY_REPORTS": str(folder / "reports"),
        "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db",
    }
    child = subprocess.Popen(
        [sys.executable, ASSAY, *words], env=os.environ | places, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(words)}: exit code {os.waitstatus_to_exitcode(status)}")
    return used.ru_maxrss / 1024


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the most that is held."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep_memory", description=__doc__)
    parser.add_argument("--collection", default="scifact")
    args = parser.parse_args(arguments)
    bs = [round(0.1 * i, 1) for i in range(10)]
    for count in (1, len(ANALYZERS)):
        axes = {f"{LEG}.analyzer": list(ANALYZERS[:count]), f"{LEG}.b": bs}
        points = count * len(bs)
        with TemporaryDirectory() as made:
            file = Path(made) / "points.yaml"
            file.write_text(f"base: {CONFIG}\naxes: {axes}\ncollections: ['{args.collection}']\n")
            print(f"sweep {points:3} points {hold(Path(made), 'sweep', str(file)):7.0f} MB")
            space = [
                word
                for key, values in axes.items()
                for word in ("--over", f"{key}={','.join(map(str, values))}")
            ]
            space += [f"dataset={args.collection}", "--output", str(Path(made) / "best.yaml")]
            print(
                f"tune  {points:3} points {hold(Path(made), 'tune', str(CONFIG), *space):7.0f} MB"
            )


if __name__ == "__main__":
    main()
