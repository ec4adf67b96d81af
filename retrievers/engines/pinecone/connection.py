"""Calls to Pinecone, and what goes wrong in them."""

from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from assay.retrievers.engines.servers.service import (
    Fault,
    GoneError,
    ServiceConnection,
    ServiceSettings,
)
from assay.retrievers.services.addresses import read_address
from assay.retrievers.services.retries import read_retry_after

if TYPE_CHECKING:
    from pinecone import Index

ADDRESS = "PINECONE_URL"
# A tag's value is as long at most; an index has 20 of them.
TAG_LENGTH = 120
TAG = "assay-"
NAMESPACE = "texts"


class PineconeConnection(ServiceConnection):
    """Asks the control plane at PINECONE_URL, and each index at the host that this names."""

    engine = "pinecone"
    vendor = "Pinecone"
    key = "PINECONE_API_KEY"
    separator = "-"
    version = "2026-07"

    def __init__(self, settings: ServiceSettings) -> None:
        super().__init__(settings, read_address(self.engine, ADDRESS))
        settings.capabilities.load()
        from pinecone import Pinecone, RetryConfig

        self._once = RetryConfig(max_retries=0)
        self.client = Pinecone(
            api_key=self._secret,
            host=self.url,
            timeout=settings.timeout_seconds,
            retry_config=self._once,
        )
        self._indexes: dict[str, Index] = {}
        self._lock = Lock()

    def open_index(self, name: str) -> "Index":
        """Return the index, whose host is asked for once."""
        with self._lock:
            if name not in self._indexes:
                self._indexes[name] = self._without_retries(self.client.index(name))
            return self._indexes[name]

    def list_notes(self) -> dict[str, str]:
        """Return the notes, which are cut into tags."""
        found = self.ask(lambda: list(self.client.indexes.list()))
        return {index.name: _join(index.tags or {}) for index in found}

    def write_note(self, name: str, note: str) -> None:
        """Put a note that is no shorter in place of the one before."""
        self.ask(lambda: self.client.indexes.configure(name, tags=cut_note(note)))

    def count(self, name: str) -> int:
        """Return how many documents the index tells, which lags behind."""
        return self.ask(
            lambda: int(self.open_index(name).describe_index_stats().total_vector_count)
        )

    def drop(self, name: str) -> None:
        """Remove the index."""
        with suppress(GoneError):
            self.ask(lambda: self.client.indexes.delete(name, timeout=-1))

    def close(self) -> None:
        """Close the connections; may be called twice."""
        for index in self._indexes.values():
            index.close()
        self.client.close()

    @staticmethod
    def find_fault(error: Exception) -> Fault | None:
        """Return what an error of the client says."""
        from pinecone import errors

        if isinstance(error, errors.ApiError):
            wait = read_retry_after(error.headers or {}) or 0.0
            return Fault("answered", error.message, error.status_code, wait)
        if isinstance(error, errors.PineconeTimeoutError):
            return Fault("late")
        if isinstance(error, errors.PineconeConnectionError):
            return Fault("lost", error)
        return Fault("garbled") if isinstance(error, errors.ResponseParsingError) else None

    def _without_retries(self, index: "Index") -> "Index":
        """Leave retries to this project, which keeps them out of latencies.

        The client has no setting for it where documents are searched.
        """
        from pinecone._internal.http_client import HTTPClient

        index._http.close()
        config = replace(index._config, retry_config=self._once)
        index._http = HTTPClient(config, self.version)
        return index


def cut_note(note: str) -> dict[str, str]:
    """Return the tags that hold a note."""
    starts = range(0, len(note), TAG_LENGTH)
    return {f"{TAG}{i}": note[start : start + TAG_LENGTH] for i, start in enumerate(starts)}


def _join(tags: dict[str, str]) -> str:
    return "".join(tags.get(f"{TAG}{i}", "") for i in range(len(tags)))
