"""Connections that several threads use, each by one thread at a time."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    """What can be closed."""

    def close(self) -> None:
        """Release what is held."""
        ...


C = TypeVar("C", bound=Closable)


class Pool(Generic[C]):
    """Lends connections; it opens one only when all others are lent."""

    def __init__(self, connect: Callable[[], C]) -> None:
        self._connect = connect
        self._idle: deque[C] = deque()  # its operations are atomic

    @contextmanager
    def lend(self) -> Iterator[C]:
        """Give a connection that no other thread has meanwhile."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        try:
            yield connection
        finally:
            self._idle.append(connection)

    def close(self) -> None:
        """Close all that is not lent."""
        while self._idle:
            self._idle.pop().close()
