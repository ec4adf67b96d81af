"""Calls to Azure Cosmos DB for NoSQL, and what goes wrong in them."""

import base64
import binascii
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from assay.retrievers.base import AssayError
from assay.retrievers.engines.azure_cosmos_nosql.statements import COUNT, CutOffError
from assay.retrievers.engines.servers.service import (
    Fault,
    GoneError,
    ServiceConnection,
    ServiceSettings,
)
from assay.retrievers.services.addresses import read_address

if TYPE_CHECKING:
    from azure.cosmos import ContainerProxy, CosmosClient

ADDRESS = "AZURE_COSMOS_ENDPOINT"
DATABASE = "assay"
NOTES = "notes"
PARTITION = "texts"
WAIT = "x-ms-retry-after-ms"
PROGRESS = "x-ms-documentdb-collection-index-transformation-progress"
# A container that is still being made.
UNMADE = 1013
NOT_FOUND, LATE, BUSY, FORBIDDEN, LATER = 404, 408, 449, 403, 503


class CosmosConnection(ServiceConnection):
    """Asks the account at AZURE_COSMOS_ENDPOINT; notes are items of a container of their own."""

    engine = "azure-cosmos-nosql"
    vendor = "Azure Cosmos DB"
    key = "AZURE_COSMOS_KEY"
    version = "2020-07-15"

    def __init__(self, settings: ServiceSettings) -> None:
        super().__init__(settings, read_address(self.engine, ADDRESS))
        settings.capabilities.load()
        try:
            base64.b64decode(self._secret)
        except binascii.Error:
            raise AssayError(f"engine {self.engine}: {self.key} is no key: not base64") from None
        self._client = self.ask(self._connect)
        self._database = self._client.get_database_client(DATABASE)

    def open_container(self, name: str) -> "ContainerProxy":
        """Return a container, which need not be there yet."""
        return self._database.get_container_client(name)

    def make_container(self, name: str, partition: str, **policies: Any) -> None:
        """Make a container in the database, which is made where it is not there."""
        from azure.cosmos import PartitionKey

        self.make(lambda: self._client.create_database(DATABASE))
        path = PartitionKey(path=partition)
        self.make(lambda: self._database.create_container(name, path, **policies))

    def list_notes(self) -> dict[str, str]:
        """Return the notes."""
        notes = self.open_container(NOTES)
        with suppress(GoneError):
            return self.ask(
                lambda: {str(each["id"]): str(each["note"]) for each in notes.read_all_items()}
            )
        return {}

    def write_note(self, name: str, note: str) -> None:
        """Note what is in a container."""
        item = {"id": name, "note": note}
        notes = self.open_container(NOTES)
        try:
            self.ask(lambda: notes.upsert_item(item))
        except GoneError:
            self.make_container(NOTES, "/id")
            self.ask(lambda: notes.upsert_item(item))

    def count(self, name: str) -> int:
        """Return how many items there are; none for as long as an index is being built."""
        container = self.open_container(name)
        told: dict[str, Any] = {}

        def keep(headers: Mapping[str, Any], _: object) -> None:
            told.update({key.lower(): value for key, value in headers.items()})

        self.ask(lambda: container.read(populate_quota_info=True, response_hook=keep))
        if int(told.get(PROGRESS, 100)) not in (-1, 100):
            return 0
        return self.ask(
            lambda: sum(map(int, container.query_items(COUNT, partition_key=PARTITION)))
        )

    def drop(self, name: str) -> None:
        """Remove the container, then its note."""
        with suppress(GoneError):
            self.ask(lambda: self._database.delete_container(name))
        with suppress(GoneError):
            self.ask(lambda: self.open_container(NOTES).delete_item(name, name))

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._client.close()

    @staticmethod
    def find_fault(error: Exception) -> Fault | None:
        """Return what an error of the client says."""
        from azure.core import exceptions
        from azure.cosmos.exceptions import CosmosClientTimeoutError

        if isinstance(error, CutOffError):
            return Fault("answered", error, LATER)
        if isinstance(error, exceptions.IncompleteReadError):
            return Fault("lost", "the answer broke off")
        if isinstance(error, exceptions.DecodeError):
            return Fault("garbled")
        if isinstance(error, exceptions.HttpResponseError) and error.status_code:
            return _read_failure(error)
        timeouts = (
            exceptions.ServiceRequestTimeoutError,
            exceptions.ServiceResponseTimeoutError,
            CosmosClientTimeoutError,
        )
        if isinstance(error, timeouts):
            return Fault("late")
        return Fault("lost", error) if isinstance(error, exceptions.AzureError) else None

    def _connect(self) -> "CosmosClient":
        from azure.cosmos import CosmosClient
        from azure.cosmos.documents import ConnectionPolicy

        policy = ConnectionPolicy()
        # Retries are made and counted here; the client takes a total of 0 for its own default.
        policy.RetryOptions = type(policy.RetryOptions)(0)
        return CosmosClient(
            self.url,
            self._secret,
            connection_policy=policy,
            connection_timeout=self._timeout,
            read_timeout=self._timeout,
            retry_total=0,
            enable_endpoint_discovery=False,
        )


def _read_failure(error: Any) -> Fault:
    """Return what the service says of a request, or of one operation of a batch."""
    said, status = _find_reason(error), error.status_code
    if status == LATE:
        return Fault("late")
    if status == FORBIDDEN:
        return Fault("answered", f"{FORBIDDEN}: {said}")  # a wrong key has another status
    if status == BUSY or (status == NOT_FOUND and error.sub_status == UNMADE):
        status = LATER
    wait = float(error.headers.get(WAIT) or 0) / 1000
    return Fault("answered", said, status, wait)


def _find_reason(error: Any) -> str:
    """Return the service's message, which it sends as JSON."""
    try:
        return str(json.loads(error.http_error_message)["message"])
    except (ValueError, TypeError, LookupError):
        return str(error.http_error_message or error.reason)
