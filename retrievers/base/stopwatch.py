"""Wall time and CPU time of steps that follow on one another."""

import time


class Stopwatch:
    """Milliseconds by step: `wall` as they go by, `cpu` as this process works, in all its threads.

    Where a step waits, for a service or for a core that others use, `cpu` is the less of the two.
    """

    def __init__(self) -> None:
        self.wall: dict[str, float] = {}
        self.cpu: dict[str, float] = {}
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def stop(self, step: str, waited: float = 0.0) -> None:
        """End a step, which the next one follows; `waited` milliseconds of it do not count."""
        wall, cpu = time.perf_counter(), time.process_time()
        self.wall[step] = (wall - self._wall) * 1e3 - waited
        self.cpu[step] = (cpu - self._cpu) * 1e3
        self._wall, self._cpu = wall, cpu
