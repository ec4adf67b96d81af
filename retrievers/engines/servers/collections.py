"""Collections on a server: named for their content, whole or not there, listed and removed."""

import json
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from secrets import token_hex
from typing import Any, Self, TypeVar

from assay.retrievers.base import AssayError, Progress
from assay.retrievers.engines.servers.store import GoneError, Row, Store
from assay.retrievers.models.base import Vectors
from assay.retrievers.store.digest import digest, digest_texts

T = TypeVar("T")
PREFIX = "assay_"
MADE_BY = "assay"
FIELDS = {"key", "identity", "dimensions", "texts", "created", "complete"}
# A float of 32 bits takes as many as JSON at most, with what separates it from the next.
BYTES_PER_NUMBER = 25
BYTES_PER_ROW = 200
INDEXING_SECONDS = 3600.0
# A server that is consistent in the end may for a while count fewer rows than it holds.
SETTLING_SECONDS = 30.0
PAUSE = 0.2
_INDEX = re.compile(PREFIX + "[0-9a-f]{16}")
_COLLECTION = re.compile(PREFIX + "[0-9a-f]{16}_[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class CollectionPlan:
    """The content planned for a collection of a server.

    `name` is that of its index, `key` the digest of its content, `identity` that of the encoder;
    `dimensions` is 0 if there are no vectors.
    """

    name: str
    key: str
    identity: str
    texts: int
    dimensions: int


@dataclass(frozen=True, slots=True)
class Collection:
    """A complete collection: its name on the server, and the facts in its note.

    `bytes` is 0 if the server does not report it; `cached` is True if it existed before.
    """

    name: str
    note: Mapping[str, Any]
    bytes: int = 0
    cached: bool = True


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """An index that this project made: its name on the server, its number of texts, its size.

    - `bytes`: None if the server does not report it.
    - `created`: a time in UTC as `2026-01-31T12:00:00Z`, empty if it is not known.
    - `texts`: 0 for an index that a killed process left incomplete.
    """

    name: str
    texts: int
    bytes: int | None = None
    created: str = ""


class CollectionBuilder:
    """Finds the collection of a plan in a store, or makes it of texts and their vectors.

    The last step marks it as complete: an interrupted one is never found. A collection that follows
    the documents (`kept`) is not made again for other texts: the rows of changed documents are
    replaced. `documents` has the positions of the texts of each document, in their order.
    """

    def __init__(
        self,
        store: Store,
        plan: CollectionPlan,
        texts: Sequence[str],
        vectors: Vectors,
        progress: Progress,
        documents: Mapping[str, Sequence[int]],
    ) -> None:
        self._store = store
        self._plan = plan
        self._texts = texts
        self._vectors = vectors
        self._progress = progress
        self._documents = documents
        self._kept = store.settings.kept_name

    def open(self) -> Collection:
        """Return the collection; create it if it is not found.

        Raises AssayError if a collection of that name exists that must not be replaced.
        """
        if found := self._find():
            return found
        store, plan = self._store, self._plan
        name = store.spell(f"{plan.name}_{token_hex(4)}")
        begin = time.perf_counter()
        try:
            note = self._fill(name)
            other = self._find()  # another process may have been faster
            if other is None:
                note |= {"complete": True, "seconds": time.perf_counter() - begin}
                store.ask(lambda: store.mark(name, json.dumps(note)))
        except BaseException:
            with suppress(AssayError):
                store.drop(name)
            raise
        if other:
            store.drop(name)
            return other
        return Collection(name, note, self._measure(name), cached=False)

    def _find(self) -> Collection | None:
        """Return the collection if it is complete; remove it if it lost texts."""
        store, plan = self._store, self._plan
        for name, note in sorted(read_notes(store).items()):
            if not note["complete"] or name_of_index(name) != plan.name:
                continue
            self._check(name, note)
            if note["key"] != plan.key:
                return self._replace(name, note)
            settling = SETTLING_SECONDS if store.eventual else 0.0
            with suppress(GoneError):  # another process removes it
                if self._await_rows(name, settling) == plan.texts:
                    return Collection(name, note, self._measure(name))
            store.drop(name)
        return None

    def _check(self, name: str, note: Mapping[str, Any]) -> None:
        """Raise AssayError if a collection holds other vectors than those planned."""
        where = f"{self._store.engine} at {self._store.url}: the collection {name}"
        mend = "remove it with assay engines clean"
        if note["dimensions"] != self._plan.dimensions:
            raise AssayError(
                f"{where} has vectors of {note['dimensions']} dimensions, these have "
                f"{self._plan.dimensions}; {mend}"
            )
        if note["identity"] != self._plan.identity:
            raise AssayError(f"{where} has the vectors of another model; {mend}")
        if note["key"] != self._plan.key and not self._kept:
            raise AssayError(f"{where} has other texts; {mend}")

    def _fill(self, name: str) -> dict[str, Any]:
        """Make the collection, put the texts into it, and wait until all of them can be found."""
        store, plan = self._store, self._plan
        facts = store.prepare(self._texts, plan.dimensions)
        note = self._describe() | {"facts": facts}
        text = json.dumps(note | {"complete": False})
        store.ask(lambda: store.create(name, plan.texts, plan.dimensions, text))
        self._wait(name, store.is_made)
        what = f"{store.engine}: storing texts"
        rows = self._progress.track(self._make_rows(), what, plan.texts)
        width = plan.dimensions * BYTES_PER_NUMBER + BYTES_PER_ROW
        parts = batch(
            rows,
            store.rows_per_request,
            lambda row: width + 6 * len(row.text),  # a character may be escaped
            store.bytes_per_request,
        )
        send(parts, lambda part: store.ask(lambda: store.put(name, part)), store.in_flight)
        store.ask(lambda: store.finish(name))
        self._wait(name, store.is_ready)
        stored = self._await_rows(name, INDEXING_SECONDS if store.eventual else 0.0)
        if stored != plan.texts:
            raise store.refuse(f"{name}: {stored} of {plan.texts} texts are stored")
        return note

    def _replace(self, name: str, note: Mapping[str, Any]) -> Collection:
        """Bring a collection that follows the documents up to date."""
        store, rows = self._store, list(self._make_rows())
        told = {**note, **self._describe(), "complete": True}
        store.ask(partial(store.replace, name, rows, json.dumps(told)))
        return Collection(name, told, cached=False)

    def _describe(self) -> dict[str, Any]:
        """Return the note of a collection when its creation begins."""
        told = {name: value for name, value in asdict(self._plan).items() if name != "name"}
        created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {**told, "created": created, "made_by": MADE_BY}

    def _make_rows(self) -> Iterator[Row]:
        """Yield the rows, those of a document in its order."""
        documents = self._documents or {"": range(self._plan.texts)}
        for document, positions in documents.items():
            content = digest_texts([self._texts[i] for i in positions])
            before = None
            for order, i in enumerate(positions):
                id_ = digest(document, content, order)[:32]
                vector = self._vectors[i].tolist()
                yield Row(id_, i, self._texts[i], vector, document, before)
                before = id_ if document else None

    def _wait(self, name: str, ready: Callable[[str], bool]) -> None:
        """Wait until the server has finished. Raises AssayError when that takes too long."""
        store, until = self._store, time.monotonic() + INDEXING_SECONDS
        while not store.ask(lambda: ready(name)):
            if time.monotonic() > until:
                raise store.refuse(f"{name}: the server did not finish indexing in time")
            time.sleep(PAUSE)

    def _await_rows(self, name: str, seconds: float) -> int:
        """Wait until as many rows as planned are counted; return how many are in the end."""
        store, until = self._store, time.monotonic() + seconds
        while (count := store.ask(lambda: store.count(name))) < self._plan.texts:
            if time.monotonic() >= until:
                break
            time.sleep(PAUSE)
        return count

    def _measure(self, name: str) -> int:
        return self._store.ask(self._store.find_sizes).get(name, 0)


class StoreServer:
    """The collections in a store that bear this project's note.

    Every method raises AssayError, in one line that names the engine and the host.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.url = store.url  # without user or password

    def read_version(self) -> str:
        """Return the server's version."""
        return self._store.version

    def list_stored(self) -> list[StoredIndex]:
        """Return them by the name of the index, and incomplete ones by their own name."""
        notes = read_notes(self._store) if self._store.exists() else {}
        sizes = self._store.ask(self._store.find_sizes) if notes else {}
        stored = [
            StoredIndex(
                name_of_index(name) if note["complete"] else _respell(name),
                note["texts"] if note["complete"] else 0,
                sizes.get(name),
                note["created"],
            )
            for name, note in notes.items()
        ]
        return sorted(stored, key=lambda each: each.name)

    def drop(self, name: str) -> None:
        """Remove the collections of one of the names that are listed; they may be gone.

        Raises AssayError for a name that this project did not give.
        """
        if not _INDEX.fullmatch(name) and not _COLLECTION.fullmatch(name):
            raise self._store.refuse(f"{name}: no collection that Assay made")
        found = read_notes(self._store) if self._store.exists() else {}
        for collection, note in found.items():
            whole = note["complete"] and name_of_index(collection) == name
            if whole or _respell(collection) == name:
                self._store.drop(collection)

    def close(self) -> None:
        """Release connections and processes; may be called twice."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_notes(store: Store) -> dict[str, dict[str, Any]]:
    """Return the notes of this project's collections by their names."""
    return {
        name: note
        for name, text in store.ask(store.find_notes).items()
        if _COLLECTION.fullmatch(own := _respell(name)) and store.spell(own) == name
        if (note := _parse(text))
    }


def name_index(key: str) -> str:
    """Return the name of the index whose content has the digest `key`, of hex digits."""
    return f"{PREFIX}{key[:16]}"


def name_of_index(collection: str) -> str:
    """Return the name of the index that a collection is."""
    return _respell(collection).rpartition("_")[0]


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


def send(parts: Iterable[T], put: Callable[[T], object], in_flight: int) -> None:
    """Put all parts, up to `in_flight` at a time; once one fails, start no further one."""
    sent: deque[Future[object]] = deque()
    with ThreadPoolExecutor(in_flight) as pool:
        for part in parts:
            if len(sent) == in_flight:
                sent.popleft().result()
            sent.append(pool.submit(copy_context().run, put, part))
        for each in sent:
            each.result()


def _respell(collection: str) -> str:
    """Return a collection's name as this project writes it."""
    return collection.replace("-", "_").lower()


def _parse(text: str) -> dict[str, Any] | None:
    try:
        note = json.loads(text)
    except ValueError:
        return None
    ours = isinstance(note, dict) and note.get("made_by") == MADE_BY and note.keys() >= FIELDS
    return note if ours else None
