"""`python -m benchmarks.scale`: what `assay run` costs by number of passages, cold, from files on.

Each size is a BEIR collection of `benchmarks.synthetic_collection`, and a process of its own with
an empty cache, which reads, indexes, searches, times and reports. With `--config` that is done by
other pipelines than BM25's.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assay.eval import no_telemetry
from benchmarks.consumption import MEGABYTE, consume
from benchmarks.latency import ending_in_one_line, positive

WIDTH = 100  # where the output is no terminal
CONFIG = Path(__file__).resolve().parents[1] / "configs" / "bm25.yaml"
ASSAY = Path(sys.executable).with_name("assay")
FIGURES = {
    "pipeline": "pipeline",
    "passages": "passages",
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
    """A pipeline, a collection's size, and what its run took.

    `cpu` is in seconds, `microseconds` those of each passage; `peak`, the most memory at once,
    `own`, what of it is no mapped file, where the system tells, and `bytes`, the index on disk, are
    in MB; `p50` and `p95` of a query in milliseconds; `hits` is the share of queries whose planted
    answer came first.
    """

    pipeline: str
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
    no_telemetry.disable()
    rows: list[Row] = []
    with ending_in_one_line():
        with _place(options.data) as data:
            for size in options.passages:
                for config in options.config:
                    rows.append(_measure(data, size, config, options.limit))
                    print(json.dumps(asdict(rows[-1])), file=sys.stderr)
        if options.plot:
            _plot(rows, options.plot)
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
    parser.add_argument(
        "--config",
        type=Path,
        nargs="+",
        default=[CONFIG],
        metavar="FILE",
        help="pipelines that are run (default: configs/bm25.yaml)",
    )
    parser.add_argument(
        "--limit", type=positive, metavar="SECONDS", help="leave what takes longer than this"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the figures (.svg, .png)")
    parser.add_argument("--json", action="store_true", help="print one JSON array, no table")
    options = parser.parse_args(arguments)
    options.passages = sorted(set(options.passages))
    if options.plot and len(options.config) > 1:
        parser.error("--plot draws the figures of one pipeline; --config names several")
    return options


@contextmanager
def _place(kept: Path | None) -> Iterator[Path]:
    if kept:
        yield kept
        return
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def _measure(data: Path, passages: int, config: Path, limit: float | None) -> Row:
    """Run a pipeline on a collection of so many passages. Raises AssayError where it fails."""
    from benchmarks.synthetic_collection import write_collection

    folder = write_collection(data, passages)
    with tempfile.TemporaryDirectory(dir=data) as name:
        rooms = {"ASSAY_CACHE": f"{name}/cache", "ASSAY_REPORTS": f"{name}/reports"}
        command = [ASSAY, "run", config, "--dataset", folder, "--no-track", "--json"]
        used = consume(f"{config.stem}, {passages:,} passages", command, rooms, limit)
    result: Mapping[str, Any] = json.loads(used.output)
    return Row(
        pipeline=config.stem,
        passages=passages,
        cpu=used.cpu,
        microseconds=used.cpu / passages * 1e6,
        peak=used.peak,
        own=used.own,
        bytes=result["index"]["bytes"] / MEGABYTE,
        p50=result["latency_ms"]["p50"],
        p95=result["latency_ms"]["p95"],
        hits=result["measures"]["Hit@1"]["mean"],
    )


def _print(rows: Sequence[Row]) -> None:
    from rich.console import Console
    from rich.table import Column, Table

    table = Table(*(Column(head, overflow="fold") for head in FIGURES.values()), padding=(0, 0))
    for row in rows:
        table.add_row(*(_write(getattr(row, name)) for name in FIGURES))
    console = Console(highlight=False)
    Console(highlight=False, width=None if console.is_terminal else WIDTH).print(table)


def _write(value: str | float) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.1f}" if value > 1 else f"{value:.2f}"


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
