"""The lock of those who change a file or folder: of processes, threads and file systems."""

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import pytest
from tools.schedule import scheduled

from assay.retrievers.base import AssayError
from assay.retrievers.store import locks
from assay.retrievers.store.cache import Cache, default_root
from assay.retrievers.store.files import write_atomically
from assay.retrievers.store.locks import changing

HOLD = """
import sys, time
from pathlib import Path
from assay.retrievers.store.locks import changing
with changing(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def hold(path):
    """Return a process that holds the lock of `path` until it is killed."""
    command = [sys.executable, "-c", HOLD, str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.slow
def test_who_waits_says_for_what_and_goes_on_when_the_holder_is_killed(tmp_path, capfd):
    holder = hold(tmp_path)
    (tmp_path.parent / "link").symlink_to(tmp_path)
    timer = threading.Timer(2, os.kill, (holder.pid, signal.SIGKILL))
    timer.start()
    with changing(tmp_path.parent / "link"):
        assert holder.wait(0.5) == -signal.SIGKILL, "it waited until then"
    assert capfd.readouterr().err.startswith("waiting for another process that changes ")
    with changing(tmp_path):
        pass
    assert capfd.readouterr().err == "", "nothing is left of the killed one"


def test_a_cache_that_is_not_there_yet_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "new" / "cache"))
    with changing(tmp_path):
        assert (tmp_path / "new" / "cache" / ".locks").is_dir()
    (tmp_path / "file").touch()
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "file"))
    with pytest.raises(AssayError, match=r"file/\.locks: cannot be written: "), changing(tmp_path):
        pass


def test_it_may_be_taken_within_itself_and_leaves_nothing_beside_the_file(tmp_path):
    with changing(tmp_path / "file"), changing(tmp_path / "file"), changing(tmp_path / "other"):
        pass
    assert not list(tmp_path.iterdir())
    assert ".locks" not in {usage.kind for usage in Cache(default_root()).usage()}


def test_threads_exclude_each_other(tmp_path):
    inside = []

    def change(number):
        for _ in range(10):
            with changing(tmp_path):
                inside.append(number)
                time.sleep(0.001)
                assert inside == [number]
                inside.clear()

    threads = [threading.Thread(target=change, args=(number,)) for number in range(4)]
    failed = []
    before = threading.excepthook
    threading.excepthook = failed.append
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    threading.excepthook = before
    assert not failed


def test_a_file_system_without_locks_is_told(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    message = r"the file system has no locks.*ASSAY_CACHE"
    with pytest.raises(AssayError, match=message), changing(tmp_path):
        pass


def change_numbers(schedule, path, writers, rounds):
    """Let writers add their numbers, in an order for each seed; return what was lost, by seed."""

    def change(number):
        with changing(path):
            found = json.loads(path.read_bytes())
            write_atomically(path, json.dumps([*found, number]).encode())

    lost, orders = set(), set()
    for seed in range(rounds):
        path.write_text("[]")
        schedule.run([partial(change, number) for number in range(writers)], seed)
        orders.add(tuple(schedule.trace))
        if missing := set(range(writers)) - set(json.loads(path.read_bytes())):
            lost.add(f"seed {seed}: {missing}")
    assert len(orders) > rounds / 2, "the seeds draw orders"
    return lost


@pytest.mark.parametrize("writers", [2, 3])
def test_no_change_is_lost_in_any_order(writers, tmp_path):
    with scheduled(locks) as schedule:
        assert change_numbers(schedule, tmp_path / "numbers.json", writers, 100) == set()


def test_changes_are_lost_where_the_lock_is_left_out(tmp_path):
    with scheduled(locks, without_locks=True) as schedule:
        assert len(change_numbers(schedule, tmp_path / "numbers.json", 2, 20)) > 5
