"""Timing two pipelines interleaved, in separate processes, so that load affects both alike.

Each process answers one query at a time over a line protocol: on its standard output a line
`{"ready": true, "asks_server": …}` once it is warm; then, for every line `{"query": …}` on its
standard input, a line `{"milliseconds": …}`, measured inside, or `{"error": …}`. The pipelines may
thus be two configs or two versions of the code.
"""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict

from assay.eval.runs.machine_load import LoadMeter, MachineLoad
from assay.retrievers.base import AssayError, Progress, T

ROUNDS = 3
MOST_TOGETHER = 20  # pipelines of a sweep in one job: the index of each is open in it
LEAST_QUERIES = 20  # timed whatever time it takes
SECONDS_TO_END = 10


class InterleavedTiming(BaseModel):
    """Milliseconds of whole searches by run, paired by query, of pipelines timed in one job.

    `queries` are the ids of the queries, in the order in which they were timed. `load` is the load
    of the machine meanwhile.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    queries: list[str]
    milliseconds: dict[str, list[float]]
    load: MachineLoad


class PairTimes(NamedTuple):
    """Milliseconds of base and head, paired by query, and the load of the machine meanwhile."""

    base: list[float]
    head: list[float]
    load: MachineLoad


@dataclass(frozen=True, slots=True)
class TimedProcess:
    """The command that starts a pipeline's process; `name` is its name in errors.

    `variables` are added to the environment.
    """

    name: str
    command: tuple[str, ...]
    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)


class Process:
    """A running process whose searches are timed."""

    def __init__(self, timed: TimedProcess) -> None:
        self._name = timed.name
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        try:
            self._process = subprocess.Popen(
                timed.command,
                cwd=timed.folder,
                env={**os.environ, **timed.variables},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
            )
        except OSError as error:
            raise AssayError(f"{self._name}: cannot be started: {error}") from None

    def wait_until_ready(self) -> bool:
        """Wait until the pipeline is indexed and warm, and return True if it calls a server.

        Raises AssayError if the process ends before.
        """
        return bool(self._read().get("asks_server"))

    def measure(self, query: str) -> float:
        """Return the milliseconds that one search takes."""
        self._write(json.dumps({"query": query}))
        return float(self._read()["milliseconds"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: object, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait(SECONDS_TO_END)
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            with suppress(BrokenPipeError):  # it flushes what the process never read
                if stream:
                    stream.close()

    def _write(self, line: str) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failure() from None

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:
            raise self._failure() from None
        if "error" in answer:
            raise AssayError(f"{self._name}: {answer['error']}")
        return answer

    def _failure(self) -> AssayError:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else "it said nothing"
        return AssayError(f"{self._name}: cannot be timed: {reason}")


def interleave(
    base: TimedProcess,
    head: TimedProcess,
    queries: Sequence[str],
    seconds: float,
    progress: Progress,
) -> PairTimes:
    """Return the milliseconds of base and head, paired by query, as `alternate` does.

    Raises AssayError when a process does not start or breaks off.
    """
    with ExitStack() as stack:
        processes = [stack.enter_context(Process(timed)) for timed in (base, head)]
        asking = [process.wait_until_ready() for process in processes]
        meter = LoadMeter(any(asking))
        base_times, head_times = alternate(
            [process.measure for process in processes], queries, seconds, progress
        )
        return PairTimes(base_times, head_times, meter.end())


def alternate(
    processes: Sequence[Callable[[T], float]],
    queries: Sequence[T],
    seconds: float,
    progress: Progress,
    rounds: int = ROUNDS,
) -> list[list[float]]:
    """Return the times that each process measures, paired by query: the median of `rounds`.

    Each query goes to all in turn, in an order that changes with every query (`balance_orders`).
    Once 20 queries are timed, no further query is begun after `seconds` a process; the queries that
    were not reached are left out, the last of them.
    """
    count = len(processes)
    orders = balance_orders(count)
    taken: list[list[list[float]]] = [[[] for _ in processes] for _ in queries]
    deadline = time.perf_counter() + seconds * count
    for number in range(rounds):
        what = f"timing, round {number + 1}"
        for i, query in enumerate(progress.track(queries, what, len(queries))):
            if time.perf_counter() > deadline and (number or i >= LEAST_QUERIES):
                break
            for side in orders[(i + number) % len(orders)]:
                taken[i][side].append(processes[side](query))
    reached = [times for times in taken if all(times)]
    return [[median(times[side]) for times in reached] for side in range(count)]


def balance_orders(count: int) -> list[list[int]]:
    """Return orders of `count` processes: as many as there are, or twice as many of an odd count.

    Over all orders each process has each position equally often, and directly follows each other
    process equally often, since the previous one changes the processor's caches. Williams,
    "Experimental designs balanced for the estimation of residual effects of treatments",
    Australian Journal of Scientific Research A 2 (1949).
    """
    steps = [(turn + 1) // 2 if turn % 2 else -(turn // 2) for turn in range(count)]
    orders = [[(begin + step) % count for step in steps] for begin in range(count)]
    return orders + [order[::-1] for order in orders] if count % 2 else orders
