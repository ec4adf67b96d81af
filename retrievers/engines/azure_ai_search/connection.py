"""Calls to Azure AI Search, and what goes wrong in them."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from assay.retrievers.engines.servers.service import (
    Fault,
    GoneError,
    ServiceConnection,
    ServiceSettings,
)
from assay.retrievers.services.addresses import read_address
from assay.retrievers.services.retries import read_retry_after

if TYPE_CHECKING:
    from azure.search.documents import SearchClient

ADDRESS = "AZURE_SEARCH_ENDPOINT"


class UnstoredError(Exception):
    """Of the documents of one request some were not stored."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class AzureSearchConnection(ServiceConnection):
    """Asks the service at AZURE_SEARCH_ENDPOINT."""

    engine = "azure-ai-search"
    vendor = "Azure AI Search"
    key = "AZURE_SEARCH_KEY"
    separator = "-"
    version = "2026-04-01"

    def __init__(self, settings: ServiceSettings) -> None:
        super().__init__(settings, read_address(self.engine, ADDRESS))
        settings.capabilities.load()
        from azure.core.credentials import AzureKeyCredential
        from azure.core.pipeline.transport import RequestsTransport
        from azure.search.documents import SearchClient
        from azure.search.documents.indexes import SearchIndexClient

        # One pool of connections for all clients; each closes what it was given.
        self._transport = RequestsTransport(
            connection_timeout=self._timeout, read_timeout=self._timeout
        )
        self._options: dict[str, Any] = {
            "endpoint": self.url,
            "credential": AzureKeyCredential(self._secret),
            "api_version": self.version,
            "retry_total": 0,
            "transport": self._transport,
        }
        self._make = SearchClient
        self.indexes = SearchIndexClient(**self._options)

    def open_index(self, name: str) -> "SearchClient":
        """Return what asks an index."""
        return self._make(index_name=name, **self._options)

    def list_notes(self) -> dict[str, str]:
        """Return the descriptions of the indexes."""
        found = self.ask(lambda: list(self.indexes.list_indexes()))
        return {index.name: index.description or "" for index in found}

    def write_note(self, name: str, note: str) -> None:
        """Describe the index by the note."""

        def write() -> None:
            index = self.indexes.get_index(name)
            index.description = note
            self.indexes.create_or_update_index(index)

        self.ask(write)

    def count(self, name: str) -> int:
        """Return how many documents the index tells, which lags behind."""
        return self.ask(lambda: int(self.open_index(name).get_document_count()))

    def drop(self, name: str) -> None:
        """Remove the index."""
        with suppress(GoneError):
            self.ask(lambda: self.indexes.delete_index(name))

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._transport.close()

    @staticmethod
    def find_fault(error: Exception) -> Fault | None:
        """Return what an error of the client says."""
        from azure.core import exceptions

        if isinstance(error, UnstoredError):
            return Fault("answered", error, error.status)
        if isinstance(error, exceptions.IncompleteReadError):
            return Fault("lost", "the answer broke off")
        if isinstance(error, exceptions.DecodeError):
            return Fault("garbled")
        if isinstance(error, exceptions.HttpResponseError) and error.status_code:
            headers = {name.lower(): value for name, value in error.response.headers.items()}
            said = error.error.message if error.error else error.reason
            return Fault("answered", said, error.status_code, read_retry_after(headers) or 0.0)
        timeouts = (exceptions.ServiceRequestTimeoutError, exceptions.ServiceResponseTimeoutError)
        if isinstance(error, timeouts):
            return Fault("late")
        return Fault("lost", error) if isinstance(error, exceptions.AzureError) else None
