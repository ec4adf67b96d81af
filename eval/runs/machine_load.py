"""The load of the machine while queries are timed, by this process and by others.

Linux counts the time in which each core is idle (/proc/stat). The rest is work: what is not done by
this process and its children is done by others, who take cores, caches and memory from the search
that is timed. Time that the host of a virtual machine takes (steal) counts as theirs too.

A server works for the search but is no child of this process. If a server is called, others are
observed before the timing and after it, when the server has nothing to do.
"""

import os
import time
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

UNRELIABLE = "Times are unreliable"  # how what is said of a busy machine begins
BUSY = 0.1  # share of the cores that others use, from which on times are disturbed
SECONDS = 0.5  # the least that is observed, since the system counts in hundredths

STAT = Path("/proc/stat")
PROCESSES = Path("/proc")


class MachineLoad(BaseModel):
    """The load while queries were timed, as shares of the machine's cores.

    `own` is the share of this process with its children, `others` that of all else, None if the
    system does not report it. `load_average` is the number of processes that ran or waited in the
    minute before.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    cores: int
    seconds: float
    own: float
    others: float | None
    load_average: float | None

    def is_busy(self, limit: float = BUSY) -> bool:
        """Return True if the load of others is high enough to affect the times."""
        return self.others is not None and self.others >= limit

    @property
    def words(self) -> str:
        """The load of other processes, as a clause; "" if it is not known."""
        if self.others is None:
            return ""
        cores = "the one core" if self.cores == 1 else f"the {self.cores} cores"
        return f"other processes used {100 * self.others:.0f} % of {cores}"


def describe_disturbance(load: MachineLoad | None, again: str) -> str:
    """Return a sentence on the load of others while queries were timed; "" if low or unknown.

    `again` says how to repeat the timing, for example "run again".
    """
    if load is None or not load.is_busy():
        return ""
    return (
        f"{UNRELIABLE}, for the machine was busy: {load.words} while queries were timed. "
        f"Scores are not affected. {again} on a quiet machine."
    )


class Usage(NamedTuple):
    """Seconds so far: of the clock, of own work, and idle ones by core, if known."""

    clock: float
    own: float
    idle: dict[str, float]


class LoadMeter:
    """A meter of the machine's load from its creation, before the first query, until `end`."""

    def __init__(self, asks_server: bool) -> None:
        self._average = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
        self._pauses = [_pause()] if asks_server else []
        self._begin = read_usage()

    def end(self) -> MachineLoad:
        """Return the load that was observed. After a short timing it observes a moment longer."""
        end = read_usage()
        seconds = max(end.clock - self._begin.clock, 1e-9)
        cores = len(end.idle) or os.cpu_count() or 1
        if self._pauses:
            spans = [*self._pauses, _pause()]
        else:
            _wait(SECONDS - seconds if end.idle else 0.0)
            spans = [(self._begin, read_usage() if seconds < SECONDS else end)]
        return MachineLoad(
            cores=cores,
            seconds=seconds,
            own=min(1.0, (end.own - self._begin.own) / seconds / cores),
            others=_find_others(spans),
            load_average=self._average,
        )


def read_usage() -> Usage:
    """Return the processor time used so far, on the cores that this process may run on."""
    own = time.process_time() + sum(os.times()[2:4]) + _count_children()
    return Usage(time.perf_counter(), own, _read_idle())


def _pause() -> tuple[Usage, Usage]:
    begin = read_usage()
    _wait(SECONDS / 2 if begin.idle else 0.0)
    return begin, read_usage()


def _wait(seconds: float) -> None:
    if seconds > 0:
        time.sleep(seconds)


def _find_others(spans: list[tuple[Usage, Usage]]) -> float | None:
    """Return the share of the cores that others used over all spans; None where it is unknown."""
    room = work = 0.0
    for begin, end in spans:
        cores = begin.idle.keys() & end.idle.keys()
        seconds = (end.clock - begin.clock) * len(cores)
        room += seconds
        work += seconds - sum(end.idle[core] - begin.idle[core] for core in cores)
        work -= end.own - begin.own
    return min(1.0, max(0.0, work / room)) if room else None


def _read_idle() -> dict[str, float]:
    """Return the seconds in which each core was idle, or idle while something was read."""
    try:
        lines = STAT.read_text().splitlines()
    except OSError:
        return {}
    mine = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    ticks = os.sysconf("SC_CLK_TCK")
    rows = (line.split() for line in lines if line.startswith("cpu"))
    return {row[0]: (int(row[4]) + int(row[5])) / ticks for row in rows if row[0] in mine}


def _count_children() -> float:
    """Return the CPU seconds of the processes that descend from this one and still run."""
    parents: dict[int, int] = {}
    spent: dict[int, int] = {}
    for folder in PROCESSES.glob("[0-9]*"):
        try:
            # The name of a program, in brackets, may hold anything.
            row = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        process = int(folder.name)
        parents[process], spent[process] = int(row[1]), sum(map(int, row[11:15]))
    own = {os.getpid()}
    found: set[int] = set()
    while own:
        own = {process for process, parent in parents.items() if parent in own}
        found |= own
    return sum(spent[process] for process in found) / os.sysconf("SC_CLK_TCK") if found else 0.0
