"""Stores that a vendor serves over the network: calls to them, and what goes wrong in them."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.engines.base import StoreSettings
from assay.retrievers.engines.declarative import StatedAdapter
from assay.retrievers.engines.servers.collection_store import Collection, CollectionPlan
from assay.retrievers.engines.servers.server_engine import OpenIndex, ServerEngine
from assay.retrievers.engines.servers.service_collections import (
    Notes,
    ServiceServer,
    ServiceStore,
)
from assay.retrievers.models.base import Vectors
from assay.retrievers.services.addresses import shorten
from assay.retrievers.services.retries import MISREAD, PASSING, RetrySettings, call

T = TypeVar("T")
DENIED = (401, 403)
GONE = 404
TAKEN = 409


@dataclass(frozen=True, slots=True)
class Fault:
    """What a client's error says: the service `answered` with a `status`, came too `late`, was
    `lost`, or what came was `garbled`. The status is one of HTTP, 0 where none fits.

    `wait` is for how many seconds it asks to be left alone.
    """

    kind: Literal["answered", "late", "lost", "garbled"]
    said: object = ""
    status: int = 0
    wait: float = 0.0

    @property
    def passing(self) -> bool:
        """Whether the same call may succeed a little later."""
        return self.kind in ("late", "lost") or self.status in PASSING


class GoneError(AssayError):
    """The service knows nothing by the name that it was asked for."""


class TakenError(AssayError):
    """Something of that name is there already."""


_KINDS: dict[int, type[AssayError]] = {GONE: GoneError, TAKEN: TakenError}


class ServiceSettings(StoreSettings, ABC):
    """Base of the settings of stores that a vendor serves."""

    timeout_seconds: float = Field(30.0, gt=0, le=3600, description="seconds to wait for an answer")
    retries: RetrySettings = Field(
        default_factory=RetrySettings,
        description=(
            "after 429, for as long as the service says, 502, 503, 504, a lost connection and an "
            "answer that took too long"
        ),
    )

    @abstractmethod
    def connect(self) -> "ServiceConnection":
        """Return connections to the service. Raises AssayError."""

    def server(self) -> ServiceServer:
        """Return the service, for its list of collections."""
        return ServiceServer(self.connect())


class ServiceConnection(Notes, ABC):
    """Asks a service through its vendor's client; safe to use from several threads.

    `version` is that of the interface asked, for a service tells none of its own. Without
    `needs_key` the variable `key` may be left unset.
    """

    vendor: ClassVar[str]
    key: ClassVar[str]
    needs_key: ClassVar[bool] = True
    version: str

    def __init__(self, settings: ServiceSettings, url: str) -> None:
        self._timeout = settings.timeout_seconds
        self._retries = settings.retries
        self.url = url
        given = self.needs_key or os.environ.get(self.key)
        self._secret = read_key(self.engine, self.key) if given else ""

    @staticmethod
    @abstractmethod
    def find_fault(error: Exception) -> Fault | None:
        """Return what an error of the client says; None for what is not the service's doing."""

    def ask(self, action: Callable[[], T]) -> T:
        """Return what `action` gives; it is done again where a fault may pass."""
        try:
            return call(action, self._retries, self._is_passing, self._find_wait)
        except Exception as error:
            fault = self.find_fault(error) or (
                Fault("garbled") if isinstance(error, MISREAD) else None
            )
            if fault is None:
                raise
            kind = _KINDS.get(fault.status, AssayError)
            raise kind(f"{self.engine} at {self.url}: {self._describe(fault)}") from error

    def make(self, action: Callable[[], object]) -> None:
        """Make something under a name that no other process gives.

        Is it there already, a try before this one made it whose answer was lost.
        """
        with suppress(TakenError):
            self.ask(action)

    def _is_passing(self, error: Exception) -> bool:
        fault = self.find_fault(error)
        return fault is not None and fault.passing

    def _find_wait(self, error: Exception) -> float:
        fault = self.find_fault(error)
        return fault.wait if fault else 0.0

    def _describe(self, fault: Fault) -> str:
        if fault.kind == "garbled":
            return f"answered what no {self.vendor} answers"
        if fault.status in DENIED:
            return f"refuses the key ({fault.status}); set {self.key} to one that it knows"
        tries = self._retries.tell(fault.passing)
        if fault.kind == "late":
            return f"no answer within {self._timeout:g} s{tries}"
        said = str(fault.said)
        said = shorten(said.replace(self._secret, "…") if self._secret else said)
        if fault.kind == "lost":
            return f"cannot be reached: {said}{tries}"
        status = f" {fault.status}" if fault.status else ""
        return f"answered{status}: {said}{tries}"


S = TypeVar("S", bound=ServiceSettings)
C = TypeVar("C", bound=ServiceConnection)


class ServiceEngine(ServerEngine[S, C], Generic[S, C]):
    """A collection in a service; `store` makes it, and a subclass says how it is asked."""

    store: ClassVar[type[ServiceStore[Any, Any]]]

    def _connect(self) -> C:
        connection: Any = self._settings.connect()
        return connection  # type: ignore[no-any-return]

    def _read_version(self, connection: C) -> str:
        return connection.version

    def _open(
        self, connection: C, plan: CollectionPlan, texts: Any, vectors: Vectors
    ) -> Collection:
        return self.store(
            connection, plan, self._settings, texts, vectors, self._resources.progress
        ).open()


class StatedEngine(StatedAdapter[S, OpenIndex[C]], ServiceEngine[S, C], Generic[S, C]):
    """A collection in a service whose settings say what it is."""


def read_key(engine: str, variable: str) -> str:
    """Return the key that the environment holds. Raises AssayError, which repeats nothing of it."""
    key = os.environ.get(variable, "")
    if not key:
        raise AssayError(f"engine {engine}: set {variable} to the service's key")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise AssayError(f"engine {engine}: {variable} is no key: it has a space or a line's end")
    return key
