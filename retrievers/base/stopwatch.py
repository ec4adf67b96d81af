"""Wall time and CPU time of successive steps."""

import time


class Stopwatch:
    """Milliseconds by step: `wall` time, and `cpu` time of all threads of this process.

    If a step waits, for a service or for a busy core, its `cpu` is less than its `wall`.
    """

    def __init__(self) -> None:
        self.wall: dict[str, float] = {}
        self.cpu: dict[str, float] = {}
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def stop(self, step: str, waited: float = 0.0) -> None:
        """End a step and begin the next; `waited` milliseconds of it do not count."""
        wall, cpu = time.perf_counter(), time.process_time()
        self.wall[step] = (wall - self._wall) * 1e3 - waited
        self.cpu[step] = (cpu - self._cpu) * 1e3
        self._wall, self._cpu = wall, cpu
