"""Disks that are full: every command ends with 2 (3 where only MLflow failed) and one line."""

import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from torture.commands import call, list_writers, prepare
from torture.kills import Outcome

LARGEST = 1 << 20  # bytes that are left of the disk at most


def torture_disks(
    cases: int, seed: int, deadline: float, say: Callable[[str], None]
) -> list[Outcome]:
    """Let commands run on a small tmpfs with so many bytes left; nothing where it is not root's."""
    if cases <= 0:
        return []
    outcome = Outcome("full disk (tmpfs)", seed)
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        origin, disk = Path(name, "origin"), Path(name, "disk")
        origin.mkdir()
        disk.mkdir()
        prepare(origin)
        shutil.rmtree(origin / "cache")
        size = sum(path.stat().st_blocks * 512 for path in origin.rglob("*")) + (1 << 20)
        commands = list_writers(origin)
        while outcome.cases < cases and time.monotonic() < deadline:
            left = chance.randrange(LARGEST)
            mount = ["mount", "-t", "tmpfs", "-o", f"size={size + left}", "none", str(disk)]
            if os.getuid() or subprocess.run(mount, capture_output=True).returncode:
                say("no tmpfs can be mounted here: disks are not tortured")
                return []
            try:
                shutil.copytree(origin, disk / "work")
                command = commands[outcome.cases % len(commands)]
                done = call(disk / "work", *command.arguments, "--json")
                outcome.cases += 1
                outcome.struck += done.returncode != 0
                lines = done.stderr.strip().splitlines()
                wrong = done.returncode not in (0, 2, 3) or "Traceback" in done.stderr
                partial = [path.name for path in (disk / "work").rglob(".*.[0-9]*")]
                if wrong or partial or (done.returncode and not lines):
                    told = f"{command.name}, {left} bytes: {done.returncode} {lines[-1:]} {partial}"
                    outcome.failures.append(told[:300])
            finally:
                subprocess.run(["umount", str(disk)], check=True)
        say(f"{outcome.name}: {outcome.cases} cases, {len(outcome.failures)} failures")
    return [outcome]
