"""Writers of which one at a time goes on, to its next named point, in an order that a seed draws.

Points are: before a lock is tried, a file is opened, synced or named, and after a lock is given
back. A writer that finds a lock held tries it again when it is drawn the next time.
"""

import os
import random
import threading
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import filelock
import pytest

from assay.retrievers.store import files

MOST = 5_000  # points of a round: more means that nobody gets on


class Schedule:
    """Runs writers, each in a thread; `trace` holds who was let go on from which point."""

    def __init__(self):
        self.trace = []
        self._back = threading.Semaphore(0)
        self._go = {}
        self._at = {}
        self._number = threading.local()

    def stop_at(self, point):
        """Wait at a point until drawn; who is no writer of a round goes on."""
        if (number := getattr(self._number, "value", None)) is not None:
            self._at[number] = point
            self._back.release()
            self._go[number].acquire()

    def run(self, writers, seed):
        """Run the writers to their ends. Raises what the first of them raised."""
        chance, failed = random.Random(seed), list[BaseException]()

        def write(number):
            self._number.value = number
            self.stop_at("start")
            try:
                writers[number]()
            except BaseException as error:
                failed.append(error)
            del self._go[number]
            self._back.release()

        self.trace = []
        for number in range(len(writers)):
            self._go[number] = threading.Semaphore(0)
            threading.Thread(target=write, args=(number,), daemon=True).start()
            self._back.acquire()
        while self._go:
            assert len(self.trace) < MOST, f"seed {seed}: nobody gets on: {self.trace[-9:]}"
            number = chance.choice(sorted(self._go))
            self.trace.append((number, self._at[number]))
            self._go[number].release()
            self._back.acquire()
        if failed:
            raise failed[0]


@contextmanager
def scheduled(*locking, without_locks=False):
    """Yield a schedule to whose points come all who write files or take the locks of modules."""
    schedule = Schedule()

    class SteppingLock(filelock.FileLock):
        def acquire(self, *_, **__):
            while True:
                schedule.stop_at("lock")
                try:
                    return super().acquire(timeout=0)
                except filelock.Timeout:
                    continue

        def release(self, force=False):
            super().release(force)
            schedule.stop_at("given back")

    class NoLock(SteppingLock):
        def acquire(self, *_, **__):
            schedule.stop_at("lock left out")
            return filelock.AcquireReturnProxy(self)

    def stepping(name, call):
        def step(*given, **more):
            schedule.stop_at(name)
            return call(*given, **more)

        return step

    with pytest.MonkeyPatch.context() as patch:
        for module in locking:
            patch.setattr(module, "FileLock", NoLock if without_locks else SteppingLock)
        for name in ("open", "replace"):
            patch.setattr(Path, name, stepping(name, getattr(Path, name)))
        # Files in the making bear the numbers of their writers, which are processes otherwise.
        system = SimpleNamespace(getpid=threading.get_native_id, fsync=stepping("sync", os.fsync))
        patch.setattr(files, "os", system)
        yield schedule
