"""One class a store: its verbs, in the order of use, and the engine that they make."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from assay.retrievers.base import AssayError, Progress
from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.capabilities import Feature
from assay.retrievers.engines.formulas import Formula
from assay.retrievers.engines.one_list import OneList
from assay.retrievers.engines.servers.collection_store import Collection, CollectionPlan, batch
from assay.retrievers.engines.servers.server_engine import OpenIndex
from assay.retrievers.engines.servers.servers import name_index
from assay.retrievers.engines.servers.service import (
    Fault,
    GoneError,
    ServiceConnection,
    ServiceSettings,
    StatedEngine,
)
from assay.retrievers.engines.servers.service_collections import (
    ServiceStore,
    name_of_index,
    write_whole,
)
from assay.retrievers.fusion.ranking import Positions, Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest, digest_texts


@dataclass(frozen=True, slots=True)
class Row:
    """One text of a collection.

    `id` stands for the place in a document of this content, wherever that is in the collection.
    `before` is the id of the row right before in the document, None at its start. Where no
    document is known `document` is empty.
    """

    id: str
    position: int
    text: str
    vector: list[float]
    document: str
    before: str | None


class Store(ServiceConnection):
    """The verbs of one store. Each may raise what its client raises: `faults` says what that is.

    `faults` gives the fault by the code of the client's exception, which is its attribute
    `code_key`, by its name, or by that of a class that it extends.
    """

    faults: ClassVar[Mapping[str, Fault]]
    code_key: ClassVar[str] = "code"
    eventual: ClassVar[bool] = False
    rows_per_request: ClassVar[int] = 500

    @abstractmethod
    def create(self, name: str, plan: CollectionPlan, note: str) -> None:
        """Make an empty collection that bears the note; it may be there already."""

    @abstractmethod
    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Put rows in place of those of the same id."""

    def finish(self, name: str) -> None:
        """Wait until all rows can be found."""

    def replace(self, name: str, rows: Sequence[Row], note: str) -> None:
        """Make a collection hold these rows and no others, at once or not at all."""
        raise NotImplementedError

    @abstractmethod
    def find_notes(self) -> dict[str, str]:
        """Return the notes by the names of the collections."""

    @abstractmethod
    def mark(self, name: str, note: str) -> None:
        """Put a note in place of the one before."""

    @abstractmethod
    def count_rows(self, name: str) -> int:
        """Return how many rows can be found."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a collection; it may be gone."""

    def dense(
        self, name: str, vector: Vectors, limit: int, allowed: Positions | None
    ) -> list[Scored]:
        """Return the `limit` positions of greatest cosine, of those `allowed`."""
        raise NotImplementedError

    def keyword(self, name: str, text: str, limit: int, allowed: Positions | None) -> list[Scored]:
        """Return the `limit` positions of greatest keyword score, of those `allowed`."""
        raise NotImplementedError

    def beside(self, name: str, positions: Sequence[int]) -> list[list[int]]:
        """Return, for each position, those right before and after it in its document."""
        raise NotImplementedError

    def list_notes(self) -> dict[str, str]:
        """Return the notes by the names of the collections."""
        return self.ask(self.find_notes)

    def write_note(self, name: str, note: str) -> None:
        """Put a note in place of the one before."""
        self.ask(lambda: self.mark(name, note))

    def count(self, name: str) -> int:
        """Return how many rows can be found."""
        return self.ask(lambda: self.count_rows(name))

    def read_version(self) -> str:
        """Return the server's version."""
        return self.version

    def drop(self, name: str) -> None:
        """Remove a collection; it may be gone."""
        with suppress(GoneError):
            self.ask(lambda: self.remove(name))

    @classmethod
    def say(cls, error: Exception) -> object:
        """Return what an error of the client says."""
        return error

    @classmethod
    def find_fault(cls, error: Exception) -> Fault | None:
        """Return the fault of the table, with what the error says."""
        code = str(getattr(error, cls.code_key, ""))
        for name in (code, *(kind.__name__ for kind in type(error).__mro__)):
            if found := cls.faults.get(name):
                return Fault(found.kind, cls.say(error), found.status)
        return None


class StoreSettings(ServiceSettings):
    """Base of the settings of stores of one class that fuse nothing."""

    store: ClassVar[type[Store]]
    exact: bool = True

    @property
    def features(self) -> Sequence[Feature]:
        """What these settings ask of a server that not every one has."""
        return ()

    @property
    def kept_name(self) -> str:
        """The name of a collection that follows the documents; empty for one a content."""
        return ""

    def make_formula(self) -> Formula:
        """Return what the lists are."""
        return OneList("the cosine of the vectors of query and text; nothing is fused here")

    def list_shape(self) -> list[object]:
        """Return the settings on which an index depends."""
        return []

    def build(self, resources: Resources) -> "StoreEngine":
        """Return the engine, which has indexed nothing yet."""
        return StoreEngine(self, resources)

    def connect(self) -> Store:
        """Return connections to the store. Raises AssayError."""
        made: Any = self.store
        store: Store = made(self)
        return store


class CollectionFiller(ServiceStore[Store, StoreSettings]):
    """A collection of a store that the verbs fill.

    One that follows the documents is not made anew for other texts: of the documents that changed
    its rows are replaced.
    """

    way_out = "remove it with assay engines clean"

    def __init__(
        self,
        connection: Store,
        plan: CollectionPlan,
        settings: StoreSettings,
        texts: Sequence[str],
        vectors: Vectors,
        progress: Progress,
        documents: Mapping[str, Sequence[int]],
    ) -> None:
        super().__init__(connection, plan, settings, texts, vectors, progress)
        self._documents = documents

    def find(self) -> Collection | None:
        """Return the collection if it is there and whole, brought up to date where it follows."""
        if not self._settings.kept_name:
            return super().find()
        for name, note in sorted(self.connection.read_notes().items()):
            if not note["complete"] or name_of_index(name) != self.plan.name:
                continue
            self.check_note(name, note, replaceable=True)
            if note["key"] == self.plan.key:
                return Collection(name, note)
            rows = list(self._make_rows())
            told = {**note, **self.plan.describe(), "texts": self.plan.texts}
            note_text = write_whole(told)
            self.connection.ask(partial(self.connection.replace, name, rows, note_text))
            return Collection(name, told, cached=False)
        return None

    def create(self, name: str, note: str) -> None:
        """Make it."""
        self.connection.ask(lambda: self.connection.create(name, self.plan, note))

    def upload(self, name: str) -> None:
        """Put all rows into it, and wait until they can be found."""
        store = self.connection
        rows = iter(self.track(self._make_rows()))
        for part in batch(rows, store.rows_per_request):
            store.ask(partial(store.put, name, part))
        store.ask(partial(store.finish, name))

    def _make_rows(self) -> Iterator[Row]:
        """Yield the rows, those of a document in its order."""
        documents = self._documents or {"": range(self.plan.texts)}
        for document, positions in documents.items():
            content = digest_texts([self._texts[i] for i in positions])
            before = None
            for order, i in enumerate(positions):
                id_ = digest(document, content, order)[:32]
                vector = self._vectors[i].tolist()
                yield Row(id_, i, self._texts[i], vector, document, before)
                before = id_ if document else None


class StoreEngine(StatedEngine[StoreSettings, Store]):
    """A collection in a store of one class."""

    _documents: Mapping[str, Sequence[int]] = {}
    _linked = False

    def relate(self, documents: Mapping[str, Sequence[int]]) -> None:
        """Take the documents of the texts that are indexed next."""
        self._documents = documents if self._settings.capabilities.links else {}

    def beside(self, positions: Sequence[int]) -> list[list[int]] | None:
        """Return what the store has before and after each position."""
        opened = self._opened
        if opened is None or not self._linked:
            return None
        return opened.connection.ask(lambda: opened.connection.beside(opened.name, positions))

    def restrict(self, allowed: Positions) -> Engine | None:
        """As any engine; an approximate index would filter only what it has found."""
        return super().restrict(allowed) if self._exact or not self._dimensions else None

    @property
    def reproducible(self) -> bool:
        """Not where a collection follows the documents: it keeps statistics of what is gone."""
        return super().reproducible and not self._settings.kept_name

    def _shape(self) -> Sequence[Any]:
        related = [[name, list(places)] for name, places in self._documents.items()]
        return [*self._settings.list_shape(), *([digest(related)] if related else [])]

    def _name(self, key: str) -> str:
        kept = self._settings.kept_name
        if not kept:
            return super()._name(key)
        return name_index(digest(kept, self._dimensions, self._settings.list_shape()))

    def _read_version(self, connection: Store) -> str:
        lacks = (feature.find_lack(connection.version) for feature in self._settings.features)
        if lack := next(filter(None, lacks), ""):
            raise AssayError(f"{self.name} at {connection.url}: {lack}")
        return connection.version

    def _open(
        self, connection: Store, plan: CollectionPlan, texts: Any, vectors: Vectors
    ) -> Collection:
        documents, self._documents = self._documents, {}
        self._linked = bool(documents)
        settings, progress = self._settings, self._resources.progress
        return CollectionFiller(
            connection, plan, settings, texts, vectors, progress, documents
        ).open()

    def _search_dense(self, opened: OpenIndex[Store], vector: Vectors, limit: int) -> list[Scored]:
        store = opened.connection
        return store.ask(lambda: store.dense(opened.name, vector, limit, self._allowed))

    def _search_keyword(self, opened: OpenIndex[Store], text: str, limit: int) -> list[Scored]:
        if "keyword" not in self.searches:
            raise self._lack("keyword")
        store = opened.connection
        return store.ask(lambda: store.keyword(opened.name, text, limit, self._allowed))
