"""Connections that several threads use, each by one thread at a time."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    """An object that can be closed."""

    def close(self) -> None:
        """Release what is held."""
        ...


C = TypeVar("C", bound=Closable)


class Pool(Generic[C]):
    """Lends connections; it opens one only when all others are lent.

    With one that `is_lost` the idle ones are closed too.
    """

    def __init__(
        self, connect: Callable[[], C], is_lost: Callable[[C], bool] = lambda _: False
    ) -> None:
        self._connect = connect
        self._is_lost = is_lost
        self._idle: list[C] = []
        self._lock = threading.Lock()
        self._generation = 0

    @contextmanager
    def lend(self) -> Iterator[C]:
        """Give a connection that no other thread has meanwhile; after an error it is closed."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
            generation = self._generation
        connection = connection or self._connect()
        try:
            yield connection
        except BaseException:
            if self._is_lost(connection):
                self.close()
            connection.close()
            raise
        with self._lock:
            if keep := generation == self._generation:
                self._idle.append(connection)
        if not keep:
            connection.close()

    def close(self) -> None:
        """Close the idle connections, and those lent when they come back."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._generation += 1
        for connection in idle:
            connection.close()
