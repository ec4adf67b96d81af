"""Temporary folders of engines: kept while their process lives, found when it was killed."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from assay.retrievers.engines.copies import LOCK, OwnFolder, list_leftovers, remove_leftover

HOLD = """
import sys, time
from assay.retrievers.engines.copies import OwnFolder
folder = OwnFolder("qdrant-edge")
(folder.path / "shard").write_bytes(b"x" * 100_000)
print(folder.path, flush=True)
time.sleep(60)
"""

Start = Callable[[], tuple["subprocess.Popen[str]", Path]]


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Start a process that has a folder; temporary ones are made below this test's."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def call():
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD],
            env=os.environ
            | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[3])},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        path = Path(process.stdout.readline().strip())
        os.utime(path, (0, 0))  # long ago
        return process, path

    return call


def test_a_folder_goes_with_its_owner(start, tmp_path):
    folder = OwnFolder("qdrant-edge")
    (folder.path / "shard").write_text("x")
    assert folder.path.parent == tmp_path
    os.utime(folder.path, (0, 0))
    assert list_leftovers("qdrant-edge") == []
    folder.close()
    folder.close()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_found_and_removed(start):
    (living, kept), (killed, left) = start(), start()
    try:
        assert list_leftovers("qdrant-edge") == []
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        (leftover,) = list_leftovers("qdrant-edge")
        assert leftover.path == left
        assert 100_000 <= leftover.bytes < 200_000
        assert list_leftovers("qdrant") == []  # another engine, whose name begins alike
        with FileLock(left / LOCK):  # which is in use
            remove_leftover(leftover)
            assert left.exists()
        remove_leftover(leftover)
        assert not left.exists()
        assert kept.exists()
    finally:
        living.kill()
        living.communicate()


def test_folders_of_others_and_new_ones_are_left_alone(start, tmp_path):
    (tmp_path / "assay-qdrant-edge-abc").mkdir()
    os.utime(tmp_path / "assay-qdrant-edge-abc", (0, 0))
    new = tmp_path / "assay-qdrant-edge-def"
    new.mkdir()
    (new / LOCK).touch()  # about to be locked
    assert list_leftovers("qdrant-edge") == []
