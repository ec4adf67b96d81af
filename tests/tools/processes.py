"""The command line as a user meets it: a process of its own, called from the project's root."""

import atexit
import os
import socket
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.forked_cli import Warm

ROOT = Path(__file__).parents[2]
ASSAY = Path(sys.executable).with_name("assay")


def pipelines():
    """Return the pipelines among the configs: the files that name one."""
    files = sorted((ROOT / "configs").glob("*.yaml"))
    return [path for path in files if "\nname: " in path.read_text()]


@cache
def _warm():
    folder = TemporaryDirectory(prefix="assay-warm-")
    warm = Warm(Path(folder.name), ROOT)
    atexit.register(folder.cleanup)
    atexit.register(warm.close)
    return warm


def start(*arguments, environment, folder=None):
    """Start `assay` in a folder, or the project's root, with `environment` over this process's."""
    return _warm().start(arguments, os.environ | environment, folder)


def finish(process):
    """Wait for a started process and return what it printed."""
    output, errors = process.communicate()
    return subprocess.CompletedProcess(process.args, process.wait(), output, errors)


def find_free_port():
    """Return a loopback port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port):
    """Wait until something listens on a loopback port."""
    for _ in range(1200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError(f"nothing listens on port {port}")
