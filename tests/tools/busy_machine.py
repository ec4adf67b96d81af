"""Other processes that work: what disturbs a timing."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress

# It starts the spinning processes and ends, so that they are no children of the tests' process.
START = """
import subprocess, sys
from subprocess import DEVNULL
spin = "import time\\nend = time.monotonic() + 120\\nwhile time.monotonic() < end: pass"
for _ in range(int(sys.argv[1])):
    print(subprocess.Popen([sys.executable, "-c", spin], stdout=DEVNULL, stderr=DEVNULL).pid)
"""


@contextmanager
def spinning():
    """Let one process a core compute, none of them a child of this one, until the block ends."""
    command = [sys.executable, "-c", START, str(os.cpu_count() or 1)]
    started = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    try:
        yield
    finally:
        for pid in map(int, started.split()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
