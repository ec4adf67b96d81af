"""`python -m benchmarks.scale`: what `assay run` costs by number of passages, cold, from files on.

Each size is a BEIR collection of `benchmarks.synthetic_collection`, and a process of its own with
an empty cache, which reads, indexes, searches, times and reports.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.latency import positive
from benchmarks.tables import WIDTH
from eval import telemetry
from retrievers.base import AssayError

CONFIG = Path(__file__).resolve().parents[1] / "configs" / "bm25.yaml"
ASSAY = Path(sys.executable).with_name("assay")
SECONDS = 0.2  # between two looks at a process
MEGABYTE = 1e6
FIGURES = {
    "cpu": "CPU s",
    "microseconds": "µs a passage",
    "peak": "most memory, MB",
    "own": "without mapped files, MB",
    "bytes": "index, MB",
    "p50": "p50 ms",
    "p95": "p95 ms",
    "hits": "Hit@1",
}
PLOTTED = ("microseconds", "own", "bytes", "p50")


@dataclass(frozen=True, slots=True)
class Row:
    """A collection's size and what its run took.

    `cpu` is in seconds, `microseconds` those of each passage; `peak`, the most memory at once,
    `own`, what of it is no mapped file, where the system tells, and `bytes`, the index on disk, are
    in MB; `p50` and `p95` of a query in milliseconds; `hits` is the share of queries whose planted
    answer came first.
    """

    passages: int
    cpu: float
    microseconds: float
    peak: float
    own: float
    bytes: float
    p50: float
    p95: float
    hits: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark; end the process with 0, or with 2 and one line on what to mend."""
    options = _read_options(arguments)
    telemetry.disable()
    rows: list[Row] = []
    try:
        with _place(options.data) as data:
            for passages in options.passages:
                rows.append(_measure(data, passages))
                print(json.dumps(asdict(rows[-1])), file=sys.stderr)
        if options.plot:
            _plot(rows, options.plot)
    except AssayError as error:
        print(f"benchmark: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    else:
        _print(rows)


def _read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument(
        "--passages",
        type=positive,
        nargs="+",
        default=[100_000, 300_000, 1_000_000],
        metavar="N",
        help="sizes of the collections (default: %(default)s)",
    )
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="keep the collections here, and take those kept"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the figures (.svg, .png)")
    parser.add_argument("--json", action="store_true", help="print one JSON array, no table")
    options = parser.parse_args(arguments)
    options.passages = sorted(set(options.passages))
    return options


@contextmanager
def _place(kept: Path | None) -> Iterator[Path]:
    if kept:
        yield kept
        return
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def _measure(data: Path, passages: int) -> Row:
    """Run the pipeline on a collection of so many passages. Raises AssayError where it fails."""
    from benchmarks.synthetic_collection import write_collection

    folder = write_collection(data, passages)
    with tempfile.TemporaryDirectory(dir=data) as name:
        rooms = {"ASSAY_CACHE": f"{name}/cache", "ASSAY_REPORTS": f"{name}/reports"}
        command = [ASSAY, "run", CONFIG, "--dataset", folder, "--no-track", "--json"]
        output, errors = Path(name, "output"), Path(name, "errors")
        with output.open("w") as told, errors.open("w") as said:
            process = subprocess.Popen(command, env=os.environ | rooms, stdout=told, stderr=said)
            own = _watch(process.pid)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise AssayError(f"{folder.name}: {errors.read_text().strip().splitlines()[-1]}")
        result: Mapping[str, Any] = json.loads(output.read_text())
    cpu = used.ru_utime + used.ru_stime
    return Row(
        passages=passages,
        cpu=cpu,
        microseconds=cpu / passages * 1e6,
        peak=used.ru_maxrss * 1024 / MEGABYTE,
        own=own,
        bytes=result["index"]["bytes"] / MEGABYTE,
        p50=result["latency_ms"]["p50"],
        p95=result["latency_ms"]["p95"],
        hits=result["measures"]["Hit@1"]["mean"],
    )


def _watch(pid: int) -> float:
    """Return the most memory in MB, mapped files left out, that a process is seen to have, until it
    ends; NaN where the system does not tell.
    """
    most = float("nan")
    while not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            lines = []
        for line in lines:
            if line.startswith("RssAnon:"):
                most = max(int(line.split()[1]) * 1024 / MEGABYTE, most)
        time.sleep(SECONDS)
    return most


def _print(rows: Sequence[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("passages", *FIGURES.values())
    for row in rows:
        table.add_row(f"{row.passages:,}", *(f"{getattr(row, name):,.1f}" for name in FIGURES))
    console = Console(highlight=False)
    Console(highlight=False, width=None if console.is_terminal else WIDTH).print(table)


def _plot(rows: Sequence[Row], path: Path) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "scale"  # the same figures give the same file
    figure = Figure(figsize=(9, 5), layout="constrained")
    for axes, name in zip(figure.subplots(2, 2).flat, PLOTTED, strict=True):
        values = [getattr(row, name) for row in rows]
        axes.plot([row.passages for row in rows], values, marker="o")
        axes.set(xscale="log", ylim=(0, max(values) * 1.1), xlabel="passages", title=FIGURES[name])
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
