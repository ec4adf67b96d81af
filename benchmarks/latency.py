"""`python -m benchmarks.latency`: time per query by number of chunks, on one core."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

# Light imports only: the process must be on its core before any library counts the cores.
from assay.eval import no_telemetry
from assay.retrievers.base import AssayError


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark; end the process with 1 where a time is beyond what is wanted.

    It ends with 2 and one line on what to mend where it cannot be run.
    """
    options = _read_options(arguments)
    no_telemetry.disable()
    core = pin()
    from assay.eval.progress import ConsoleProgress
    from benchmarks import stages
    from benchmarks.experiment import run
    from benchmarks.tables import print_report

    progress = ConsoleProgress()
    report = None
    with ending_in_one_line():
        if not options.stages:
            report = run(options.chunks, options.queries, core, progress)
        pipelines = stages.run(min(options.chunks[-1], stages.CHUNKS), options.queries, progress)
    if options.json:
        told = {**(report.as_json() if report else {}), "stages": stages.as_json(pipelines)}
        print(json.dumps(told, ensure_ascii=False, indent=1))
    else:
        if report:
            print_report(report)
        stages.print_stages(pipelines)
    sizes = report.sizes if report else ()
    sys.exit(any(row.verdict == "missed" for size in sizes for row in size.rows))


def _read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument(
        "--chunks",
        type=positive,
        nargs="+",
        default=[1_000, 10_000, 100_000],
        metavar="N",
        help="sizes of the collections (default: %(default)s)",
    )
    parser.add_argument(
        "--queries",
        type=positive,
        default=200,
        metavar="N",
        help="queries timed at each size, if there are so many (default: %(default)s)",
    )
    parser.add_argument(
        "--stages", action="store_true", help="time the steps of the reference pipelines alone"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, no tables")
    options = parser.parse_args(arguments)
    options.chunks = sorted(set(options.chunks))
    return options


def positive(text: str) -> int:
    """Return the number that an option's `text` is."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


@contextmanager
def ending_in_one_line() -> Iterator[None]:
    """End the process with 2, and one line on what to mend, where a benchmark cannot be run."""
    try:
        yield
    except AssayError as error:
        print(f"benchmark: {error}", file=sys.stderr)
        sys.exit(2)
    except subprocess.CalledProcessError as error:  # which said why
        print(f"benchmark: {' '.join(map(str, error.cmd))} failed", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def pin() -> int | None:
    """Keep this process on one core and return its number; None where the system cannot."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


if __name__ == "__main__":
    main()
