"""The engine on top of a store's operations, and the settings of all servers."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from assay.retrievers.engines.adapter import Adapter, AdapterSettings, StoredIndex
from assay.retrievers.engines.base import Engine, EngineLists
from assay.retrievers.engines.capabilities import Feature
from assay.retrievers.engines.servers.collections import (
    CollectionBuilder,
    CollectionPlan,
    StoreServer,
    name_index,
)
from assay.retrievers.engines.servers.store import Store, Target
from assay.retrievers.fusion.ranking import Positions, Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.services.retries import RetrySettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest


class ServerSettings(AdapterSettings):
    """Base of the settings of stores on servers; `store` is the class of their verbs."""

    store: ClassVar[type[Store]]
    timeout_seconds: float = Field(30.0, gt=0, le=3600, description="seconds to wait for an answer")
    retries: RetrySettings = Field(
        default_factory=RetrySettings,
        description=(
            "after 429, for as long as the service says, 502, 503, 504, a lost connection and an "
            "answer that took too long"
        ),
    )

    @property
    def features(self) -> Sequence[Feature]:
        """The features that these settings need and not every server has."""
        return ()

    @property
    def kept_name(self) -> str:
        """The name of a collection that follows the documents; empty for one a content."""
        return ""

    def build(self, resources: Resources) -> Engine:
        """Return the engine, which has indexed nothing yet."""
        return StoreEngine(self, resources)

    def server(self) -> StoreServer:
        """Return the server, for its list of collections. Raises AssayError."""
        return StoreServer(self.store(self))


class OpenCollection(NamedTuple):
    """A collection on a server: the store that searches it, and its name."""

    store: Store
    name: str


class StoreEngine(Adapter[ServerSettings, OpenCollection]):
    """A collection in a store, which stays there when the engine is closed."""

    _documents: Mapping[str, Sequence[int]] = {}
    _linked = False

    def relate(self, documents: Mapping[str, Sequence[int]]) -> None:
        """Take the documents of the texts that are indexed next."""
        self._documents = documents if self._settings.capabilities.links else {}

    def beside(self, positions: Sequence[int]) -> list[list[int]] | None:
        """Return the positions that the store links before and after each position."""
        if self._opened is None or not self._linked:
            return None
        store, name = self._opened
        return store.ask(lambda: store.beside(name, positions))

    def lists(self, text: str, vector: Vectors) -> EngineLists:
        """Return the two lists as the store gives and fuses them."""
        if self._opened:
            self._check("dense", vector)
            store, target = self._opened.store, self._target(self._opened)
            if found := store.ask(lambda: store.lists(target, text, vector)):
                return found
        return super().lists(text, vector)

    def restrict(self, allowed: Positions) -> Engine | None:
        """Restrict as any engine does, if the server and its index can."""
        filters = self._exact or self._settings.store.filters_graph or not self._dimensions
        able = self._opened is None or self._opened.store.can_restrict()
        return super().restrict(allowed) if filters and able else None

    @property
    def reproducible(self) -> bool:
        """False also for a collection that follows the documents: statistics of old rows remain."""
        return super().reproducible and not self._settings.kept_name

    @property
    def _most_listed(self) -> int:
        return self._settings.store.most_listed

    def _shape(self) -> Sequence[Any]:
        related = [[name, list(places)] for name, places in self._documents.items()]
        return [*super()._shape(), *([digest(related)] if related else [])]

    def _store(
        self, texts: Sequence[str], vectors: Vectors, identity: str
    ) -> tuple[OpenCollection, StoredIndex]:
        settings = self._settings
        store = settings.store(settings, self._resources.cache.root)
        try:
            lacks = (feature.find_lack(store.version) for feature in settings.features)
            if lack := next(filter(None, lacks), ""):
                raise store.refuse(lack)
            key = self._key(texts, identity)
            kept = settings.kept_name
            shape = digest(kept, self._dimensions, settings.list_shape()) if kept else key
            plan = CollectionPlan(name_index(shape), key, identity, *vectors.shape)
            self._facts |= {"version": store.version, "index": plan.name, **store.facts}
            documents, self._documents = self._documents, {}
            self._linked = bool(documents)
            found = CollectionBuilder(
                store, plan, texts, vectors, self._resources.progress, documents
            ).open()
            self._facts |= found.note.get("facts", {})
        except BaseException:
            store.close()
            raise
        stored = StoredIndex(float(found.note.get("seconds", 0)), found.bytes, found.cached)
        return OpenCollection(store, found.name), stored

    def _search_dense(self, opened: OpenCollection, vector: Vectors, limit: int) -> list[Scored]:
        store, target = opened.store, self._target(opened)
        most = min(limit, self._texts, store.deepest)
        return store.ask(lambda: store.dense(target, vector, most))

    def _search_keyword(self, opened: OpenCollection, text: str, limit: int) -> list[Scored]:
        if "keyword" not in self.searches:
            raise self._lack("keyword")
        store, target = opened.store, self._target(opened)
        most = min(limit, self._texts, store.deepest)
        return store.ask(lambda: store.keyword(target, text, most))

    def _search_hybrid(
        self, opened: OpenCollection, text: str, vector: Vectors, limit: int
    ) -> list[Scored]:
        store, target = opened.store, self._target(opened)
        return store.ask(lambda: store.hybrid(target, text, vector))

    def _target(self, opened: OpenCollection) -> Target:
        return Target(opened.name, self._allowed)

    def _release(self, opened: OpenCollection) -> None:
        opened.store.close()
