"""Disks that are full or may not be written, and every command that writes."""

import csv
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from samples.small_project import write_project
from tools.project_files import declare_committed
from tools.refused_writes import COMMANDS
from tools.unprivileged import ROOT, forbid_writing, run_unprivileged

from assay.eval.cli.main import assay

pytestmark = pytest.mark.slow


def call(*words):
    done = CliRunner().invoke(assay, [*words, "--json"])
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


def grade(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "grade": "0"} for row in rows)


def fill(path):
    """Write a file that takes all that is left of its disk."""
    with path.open("wb") as file:
        while True:
            file.write(bytes(4096))
            file.flush()


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with two runs, a baseline, a table of grades, and a cache beside it."""
    home = tmp_path_factory.mktemp("home")
    folder = home / "project"
    with pytest.MonkeyPatch.context() as patch:
        folder.mkdir()
        patch.chdir(folder)
        patch.setenv("ASSAY_REPORTS", str(folder / "reports"))
        patch.setenv("ASSAY_CACHE", str(home / "cache"))
        write_project(folder)
        runs = [json.loads(call("run", f"{name}.yaml", "--no-track"))["run"] for name in
                ("mine", "second")]  # fmt: skip
        Path("runs").write_text(" ".join(runs))
        call("pool", runs[0], "--output", "pool.csv")
        grade(Path("pool.csv"))
        shutil.copy("other.jsonl", "third.jsonl")
        declare_committed(folder / "reports" / runs[0])
        call("baseline", "accept", runs[0], "--baselines", "accepted")
        yield folder


def try_all(folder, room, each):
    """Call each `each`-th command as a process that file modes bind; `room` can be written."""
    done = run_unprivileged(
        "-m", "tools.refused_writes", str(folder), str(each),
        PYTHONPATH=f"{ROOT}:{ROOT / 'tests'}", ROOM=str(room), TMPDIR=str(room),
        ASSAY_REPORTS=str(folder / "reports"), ASSAY_CACHE=str(room / "cache"), ASSAY_TRUST="1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found) == list(COMMANDS)[::each]
    return found


def check(found, folder, cause):
    wrong = []
    for name, (code, errors, partial) in found.items():
        lines = [line for line in errors.splitlines() if line.startswith("assay: ")]
        told = len(lines) == 1 and re.search(cause, lines[0])
        if code != 2 or not told or partial or "Traceback" in errors:
            wrong.append(f"{name}: {code} {errors[-400:]} {partial}")
    assert not wrong, "\n".join(wrong)


def test_a_folder_that_may_not_be_written_is_one_line(project, tmp_path):
    folder = tmp_path / "project"
    shutil.copytree(project, folder)
    shutil.copytree(project.parent / "cache", tmp_path / "cache")
    forbid_writing(folder)
    try:
        found = try_all(folder, tmp_path, 1)
    finally:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
    check(found, folder, "ermission denied|may not be written")


@pytest.mark.parametrize("each", [3, pytest.param(1, marks=pytest.mark.long)])
def test_a_full_disk_is_one_line(project, tmp_path, each):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(disk)]
    if os.getuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        folder = disk / "project"
        shutil.copytree(project, folder)
        shutil.copytree(project.parent / "cache", tmp_path / "cache")
        with pytest.raises(OSError, match="No space left"):
            fill(disk / "full")
        found = try_all(folder, tmp_path, each)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    check(found, folder, "No space left on device")
