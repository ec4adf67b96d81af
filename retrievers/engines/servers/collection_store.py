"""Collections on a server: filled under a name of their own, and found once they are whole."""

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any, Generic, TypeVar

from assay.retrievers.base import AssayError, Progress
from assay.retrievers.engines.servers.servers import C
from assay.retrievers.models.base import Vectors

IN_FLIGHT = 4  # requests that store texts, at once

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CollectionPlan:
    """What is to be in a collection of a server.

    `name` is that of its index, `key` the digest of its content, `identity` that of the encoder;
    `dimensions` is 0 where there are no vectors.
    """

    name: str
    key: str
    identity: str
    texts: int
    dimensions: int

    def describe(self) -> dict[str, Any]:
        """Return what is noted of a collection when it is begun."""
        return {
            "key": self.key,
            "identity": self.identity,
            "dimensions": self.dimensions,
            "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection that is whole: by what name it is asked, and what is noted of it.

    `bytes` is 0 where the server does not tell; `cached` says that it was there before.
    """

    name: str
    note: Mapping[str, Any]
    bytes: int = 0
    cached: bool = True

    @property
    def seconds(self) -> float:
        """The seconds that it took to make."""
        return float(self.note.get("seconds", 0))


class CollectionStore(ABC, Generic[C]):
    """Finds the collection of a plan on a server, or makes it.

    To mark it whole is the last step: what is cut off before is never found.
    """

    engine: str
    # What a user can do about a collection that is in the way.
    way_out = "remove it"

    def __init__(self, connection: C, plan: CollectionPlan, progress: Progress) -> None:
        self.connection = connection
        self.plan = plan
        self._progress = progress

    def open(self) -> Collection:
        """Return the collection, which is made where it is not found.

        Raises AssayError for one of that name that this must not replace.
        """
        if found := self.find():
            return found
        name = self.name_partial()
        begin = time.perf_counter()
        try:
            measured = self.fill(name)
            other = self.find()  # another process may have been faster
            if other is None:
                note = self.plan.describe() | {"texts": self.plan.texts} | measured
                self.mark_whole(name, note | {"seconds": time.perf_counter() - begin})
        except BaseException:
            with suppress(AssayError):
                self.drop(name)
            raise
        if other:
            self.drop(name)
            return other
        found = self.find()
        if found is None:
            raise AssayError(f"{self.describe(self.plan.name)} is gone again")
        return Collection(found.name, found.note, found.bytes, cached=False)

    def name_partial(self) -> str:
        """Return a name that no other process gives."""
        return f"{self.plan.name}_{token_hex(4)}"

    def describe(self, name: str) -> str:
        """Return how a collection is named in messages."""
        return f"{self.engine} at {self.connection.url}: the collection {name}"

    def check_note(self, name: str, note: Mapping[str, Any], replaceable: bool = False) -> None:
        """Raise AssayError where a collection holds other vectors than those planned.

        Nor may it hold other texts, unless it is `replaceable` by these.
        """
        where = self.describe(name)
        if note["dimensions"] != self.plan.dimensions:
            raise AssayError(
                f"{where} has vectors of {note['dimensions']} dimensions, these have "
                f"{self.plan.dimensions}; {self.way_out}"
            )
        if note["identity"] != self.plan.identity:
            raise AssayError(f"{where} has the vectors of another model; {self.way_out}")
        if note["key"] != self.plan.key and not replaceable:
            raise AssayError(f"{where} has other texts; {self.way_out}")

    def track(self, texts: Iterable[T]) -> Iterable[T]:
        """Yield `texts`, one for each that is planned, and say now and then how many remain."""
        return self._progress.track(texts, f"{self.engine}: storing texts", self.plan.texts)

    def check_stored(self, name: str, stored: int) -> None:
        """Raise AssayError where not all texts are `stored`."""
        if stored != self.plan.texts:
            raise AssayError(
                f"{self.engine} at {self.connection.url}: {name}: {stored} of {self.plan.texts} "
                "texts are stored"
            )

    @abstractmethod
    def find(self) -> Collection | None:
        """Return the collection if it is there and whole.

        Raises AssayError where one of that name is there that must not be replaced.
        """

    @abstractmethod
    def fill(self, name: str) -> dict[str, Any]:
        """Make a collection of this name, with all that is planned; return what was measured.

        Nothing of it may be found by others yet.
        """

    @abstractmethod
    def mark_whole(self, name: str, note: dict[str, Any]) -> None:
        """Let a filled collection be found, in place of any before."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Remove a collection by the name under which it was filled; it may be gone."""


class VectorStore(CollectionStore[C], Generic[C, S]):
    """A store that makes a collection of `texts` with their `vectors` as the `settings` say."""

    def __init__(
        self,
        connection: C,
        plan: CollectionPlan,
        settings: S,
        texts: Sequence[str],
        vectors: Vectors,
        progress: Progress,
    ) -> None:
        super().__init__(connection, plan, progress)
        self._settings = settings
        self._texts = texts
        self._vectors = vectors


def batch(
    items: Iterable[T],
    most: int,
    size: Callable[[T], int] = lambda _: 0,
    most_bytes: int = 0,
) -> Iterator[list[T]]:
    """Yield the items that fit into one request together, at least one in each."""
    begun: list[T] = []
    total = 0
    for item in items:
        bytes_ = size(item)
        if begun and (len(begun) == most or total + bytes_ > most_bytes):
            yield begun
            begun, total = [], 0
        begun.append(item)
        total += bytes_
    if begun:
        yield begun


def send(parts: Iterable[T], put: Callable[[T], object]) -> None:
    """Put all parts, IN_FLIGHT of them at once; once one fails, no further one is begun."""
    sent: deque[Future[object]] = deque()
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        for part in parts:
            if len(sent) == IN_FLIGHT:
                sent.popleft().result()
            sent.append(pool.submit(copy_context().run, put, part))
        for each in sent:
            each.result()
