"""Threads that end with the block they work for."""

from concurrent.futures import ThreadPoolExecutor
from types import TracebackType


class ThreadPool(ThreadPoolExecutor):
    """A pool that gives up what no thread has begun where its block ends in an exception.

    Python's own waits for all of it, so that Ctrl-C takes effect when everything is done.
    """

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for the threads; after an exception for what they have begun."""
        self.shutdown(cancel_futures=kind is not None)
