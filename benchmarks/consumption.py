"""What a process takes."""

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.retrievers.base import AssayError

SECONDS = 0.2  # between two looks at a process
MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class Consumed:
    """What a process wrote to its standard output, and what it took.

    `cpu` is in seconds, of its children too; `peak`, the most memory at once, and `own`, what of it
    is no mapped file (NaN where the system does not tell), are in MB.
    """

    output: str
    cpu: float
    peak: float
    own: float


def consume(
    what: str, command: Sequence[str | Path], environment: Mapping[str, str], limit: float | None
) -> Consumed:
    """Run a process to its end. Raises AssayError, of `what`, with the last line of what it says
    where it fails, or where it takes longer than `limit` seconds.
    """
    with tempfile.TemporaryFile("w+") as told, tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            command, env=os.environ | environment, stdout=told, stderr=said, text=True
        )
        try:
            own = _watch(process.pid, limit)
        except BaseException as error:
            process.kill()
            process.wait()
            if isinstance(error, TimeoutError):
                raise AssayError(f"{what}: not done after {limit:g} seconds") from None
            raise
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        told.seek(0)
        said.seek(0)
        if process.returncode:
            last = (said.read().strip().splitlines() or [f"ended with {process.returncode}"])[-1]
            raise AssayError(f"{what}: {last}")
        peak = used.ru_maxrss * 1024 / MEGABYTE
        return Consumed(told.read(), used.ru_utime + used.ru_stime, peak, own)


def _watch(pid: int, limit: float | None) -> float:
    """Return the most memory in MB, mapped files left out, that a process is seen to have, until it
    ends. Raises TimeoutError after `limit` seconds.
    """
    begin, most = time.monotonic(), float("nan")
    while not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        if limit and time.monotonic() - begin > limit:
            raise TimeoutError
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            lines = []
        for line in lines:
            if line.startswith("RssAnon:"):
                most = max(int(line.split()[1]) * 1024 / MEGABYTE, most)
        time.sleep(SECONDS)
    return most
