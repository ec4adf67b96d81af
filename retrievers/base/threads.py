"""Threads that end with their block."""

from concurrent.futures import ThreadPoolExecutor
from types import TracebackType


class ThreadPool(ThreadPoolExecutor):
    """A pool that drops tasks not yet started if its block ends in an exception.

    Python's own waits for all tasks, so that Ctrl-C only takes effect when everything is done.
    """

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for all tasks; after an exception, only for those that have started."""
        self.shutdown(cancel_futures=kind is not None)
