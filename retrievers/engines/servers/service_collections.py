"""Collections in a service of a vendor: each bears a note, and is whole when that says so."""

import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from assay.retrievers.base import AssayError, Progress
from assay.retrievers.engines.servers.collection_store import (
    Collection,
    CollectionPlan,
    VectorStore,
)
from assay.retrievers.engines.servers.servers import ConnectedServer, StoredIndex, is_index_name
from assay.retrievers.models.base import Vectors

MADE_BY = "assay"
FIELDS = {"key", "identity", "dimensions", "texts", "created", "complete"}
INDEXING_SECONDS = 3600.0
_NAME = re.compile("assay_[0-9a-f]{16}_[0-9a-f]{8}")
# A service that is consistent in the end may for a while count fewer texts than it holds.
SETTLING_SECONDS = 30.0
PAUSE = 1.0


class Notes(ABC):
    """A connection to a service at `url`, seen for the collections that bear a note.

    `separator` stands between the parts of a name where the service allows no underscore. It is
    `eventual` where it may for a while count fewer texts than it holds. Every method raises
    AssayError.
    """

    engine: ClassVar[str]
    separator: ClassVar[str] = "_"
    eventual: ClassVar[bool] = True
    url: str

    def spell(self, name: str) -> str:
        """Return a collection's name as the service has it."""
        return name.replace("_", self.separator)

    def read_version(self) -> str:
        """Return the server's version, empty where it does not tell."""
        return ""

    @abstractmethod
    def list_notes(self) -> dict[str, str]:
        """Return the texts of the notes by the names of the collections, whoever made those."""

    @abstractmethod
    def write_note(self, name: str, note: str) -> None:
        """Put a note in place of the one before."""

    @abstractmethod
    def count(self, name: str) -> int:
        """Return how many texts can be found."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Remove a collection; that it is gone is no error."""

    @abstractmethod
    def close(self) -> None:
        """Close the connections; may be called twice."""

    def read_notes(self) -> dict[str, dict[str, Any]]:
        """Return the notes of this project's collections by their names."""
        return {
            name: note
            for name, text in self.list_notes().items()
            if _NAME.fullmatch(own := _spell(name)) and self.spell(own) == name
            if (note := _parse(text))
        }


N = TypeVar("N", bound=Notes)
S = TypeVar("S")


class ServiceStore(VectorStore[N, S], Generic[N, S]):
    """A collection whose name is of an index and of the process that makes it.

    A subclass makes a collection and puts texts into it.
    """

    def __init__(
        self,
        connection: N,
        plan: CollectionPlan,
        settings: S,
        texts: Any,
        vectors: Vectors,
        progress: Progress,
    ) -> None:
        super().__init__(connection, plan, settings, texts, vectors, progress)
        self.engine = connection.engine

    def find(self) -> Collection | None:
        """Return the collection if it is there and whole; one that lost texts is removed."""
        for name, note in sorted(self.connection.read_notes().items()):
            if not note["complete"] or name_of_index(name) != self.plan.name:
                continue
            self.check_note(name, note)
            settling = SETTLING_SECONDS if self.connection.eventual else 0.0
            if self._await_texts(name, settling) == self.plan.texts:
                return Collection(name, note)
            self.drop(name)
        return None

    def name_partial(self) -> str:
        """Return a name as the service spells it."""
        return self.connection.spell(super().name_partial())

    def fill(self, name: str) -> dict[str, Any]:
        """Make the collection, put the texts into it, and wait until all of them can be found."""
        note = self.plan.describe() | {"texts": self.plan.texts, "complete": False}
        self.create(name, json.dumps(note | {"made_by": MADE_BY}))
        self.upload(name)
        self.check_stored(name, self._await_texts(name, INDEXING_SECONDS))
        return {}

    @abstractmethod
    def create(self, name: str, note: str) -> None:
        """Make an empty collection that bears the note, and wait until it takes texts."""

    @abstractmethod
    def upload(self, name: str) -> None:
        """Put the texts with their vectors into the collection."""

    def mark_whole(self, name: str, note: dict[str, Any]) -> None:
        """Say in the note that the collection is complete."""
        self.connection.write_note(name, write_whole(note))

    def drop(self, name: str) -> None:
        """Remove it."""
        self.connection.drop(name)

    def wait(self, name: str, ready: Callable[[], bool]) -> None:
        """Wait until the service says `ready`. Raises AssayError when that takes too long."""
        until = time.monotonic() + INDEXING_SECONDS
        while not ready():
            if time.monotonic() > until:
                raise AssayError(f"{self.describe(name)} was not ready in time")
            time.sleep(PAUSE)

    def _await_texts(self, name: str, seconds: float) -> int:
        """Wait until as many texts as planned are counted; return how many are in the end."""
        until = time.monotonic() + seconds
        while (count := self.connection.count(name)) < self.plan.texts:
            if time.monotonic() > until:
                break
            time.sleep(PAUSE)
        return count


class ServiceServer(ConnectedServer[Notes]):
    """The collections in a service that bear this project's note."""

    def read_version(self) -> str:
        """Return the server's version, empty where it does not tell."""
        return self._connection.read_version()

    def list_stored(self) -> list[StoredIndex]:
        """Return them by the name of the index, and by their own name where they are not whole."""
        stored = [
            StoredIndex(name_of_index(name), note["texts"], created=note["created"])
            if note["complete"]
            else StoredIndex(_spell(name), 0, created=note["created"])
            for name, note in self._connection.read_notes().items()
        ]
        return sorted(stored, key=lambda each: each.name)

    def drop(self, name: str) -> None:
        """Remove the collections of this name."""
        notes = self._connection.read_notes()
        if not is_index_name(name.rpartition("_")[0]) and not is_index_name(name):
            raise AssayError(
                f"{self._connection.engine} at {self.url}: {name}: no collection that Assay made"
            )
        for collection, note in notes.items():
            whole = note["complete"] and name_of_index(collection) == name
            if whole or _spell(collection) == name:
                self._connection.drop(collection)


def write_whole(note: Mapping[str, Any]) -> str:
    """Return the text of a note that says that its collection is complete."""
    return json.dumps({**note, "made_by": MADE_BY, "complete": True})


def name_of_index(collection: str) -> str:
    """Return the name of the index that a collection is."""
    return _spell(collection).rpartition("_")[0]


def _spell(collection: str) -> str:
    """Return a collection's name as this project writes it."""
    return collection.replace("-", "_").lower()


def _parse(text: str) -> dict[str, Any] | None:
    try:
        note = json.loads(text)
    except ValueError:
        return None
    ours = isinstance(note, dict) and note.get("made_by") == MADE_BY and note.keys() >= FIELDS
    return note if ours else None
