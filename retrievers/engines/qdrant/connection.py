"""Calls to a Qdrant server, and what goes wrong in them."""

import os
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.engines.capabilities import Capabilities, Feature
from assay.retrievers.engines.qdrant.channel import OPTIONS, describe_rpc, find_grpc_port
from assay.retrievers.services.addresses import read_address, shorten
from assay.retrievers.services.retries import MISREAD, PASSING, PASSING_RPC, RetrySettings, call
from assay.retrievers.settings import Settings

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

T = TypeVar("T")

CAPABILITIES = Capabilities(
    "engine",
    approximate=("hnsw",),
    extra="qdrant",
    modules=("qdrant_client",),
    packages=("qdrant-client",),
    address="QDRANT_URL",
    features=(Feature("fusion by weights", (1, 17)),),
    met="1.18.3",
    restricts=True,
    # It stores the points of a request in an order that differs each time, as qdrant-edge does.
    reproducible="never",
)
KEY = "QDRANT_API_KEY"


class QdrantConnectionSettings(Settings):
    """How long to wait for the server, and how often to ask again."""

    timeout_seconds: int = Field(30, ge=1, le=3600, description="seconds to wait for one answer")
    retries: RetrySettings = Field(
        default_factory=RetrySettings,
        description="after 429, 502, 503, 504, a lost connection and an answer that took too long",
    )


class GoneError(AssayError):
    """A collection is not there, or not any more: another process may have replaced it."""


class QdrantConnection:
    """Asks the server of QDRANT_URL over REST for collections, and for what is in them over gRPC.

    Where its port for gRPC does not answer, REST does for both. Safe to use from several threads.
    """

    def __init__(self, settings: QdrantConnectionSettings) -> None:
        CAPABILITIES.load()
        self._settings = settings
        self.url = read_address("qdrant", CAPABILITIES.address)
        self._grpc_port = find_grpc_port(self.url)
        key = os.environ.get(KEY) or None
        self._client = connect(self.url, key, settings.timeout_seconds)
        self._searcher = self._client
        if self._grpc_port:
            self._searcher = connect(self.url, key, settings.timeout_seconds, self._grpc_port)

    @property
    def protocol(self) -> str:
        """By what it is searched."""
        return "REST" if self._grpc_port is None else "gRPC"

    def ask(self, action: Callable[["QdrantClient"], T]) -> T:
        """Return what `action` gives with the client; it is done again where a fault may pass."""
        return self._call(self._client, action)

    def search(self, action: Callable[["QdrantClient"], T]) -> T:
        """As `ask`, with the client for searches."""
        return self._call(self._searcher, action)

    def _call(self, client: "QdrantClient", action: Callable[["QdrantClient"], T]) -> T:
        try:
            return call(lambda: action(client), self._settings.retries, is_passing)
        except Exception as error:
            if (problem := self._describe(error)) is None:
                raise
            kind = GoneError if _is_gone(error) else AssayError
            raise kind(f"qdrant at {self.url}: {problem}") from error

    def read_version(self) -> str:
        """Return the server's version. Raises AssayError where it is too old, or no Qdrant."""
        version = str(self.ask(lambda client: client.info()).version)
        for feature in CAPABILITIES.features:
            if lack := feature.find_lack(version):
                raise AssayError(f"qdrant at {self.url}: {lack}")
        return version

    def drop(self, collection: str) -> None:
        """Remove a collection; that it is gone is no error."""
        self.ask(lambda client: client.delete_collection(collection))

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._client.close()
        self._searcher.close()

    def _describe(self, error: Exception) -> str | None:
        """Return in words what went wrong; None for what no server does."""
        import grpc
        from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        after = self._settings.retries.tell(is_passing(error))
        if isinstance(error, ResourceExhaustedResponse):
            return f"answered 429: {shorten(error)}{after}"
        if isinstance(error, UnexpectedResponse):
            if error.status_code in (401, 403):
                return f"refuses the key ({error.status_code}); set {KEY} to one that it knows"
            return f"answered {error.status_code}: {_find_reason(error)}{after}"
        if isinstance(error, grpc.RpcError):
            timeout = self._settings.timeout_seconds
            return f"{describe_rpc(error, self._grpc_port, timeout, KEY)}{after}"
        if isinstance(error, ResponseHandlingException):
            return f"{self._describe_transport(error.source)}{after}"
        return "answered what no Qdrant answers" if isinstance(error, MISREAD) else None

    def _describe_transport(self, error: Exception) -> str:
        import httpx

        if isinstance(error, httpx.TimeoutException):
            return f"no answer within {self._settings.timeout_seconds} s"
        if isinstance(error, httpx.ConnectError):
            return f"cannot be reached: {shorten(error)}"
        if isinstance(error, httpx.TransportError):
            return f"the connection was lost: {shorten(error)}"
        return "answered what no Qdrant answers"


def connect(
    url: str, key: str | None, timeout: int, grpc_port: int | None = None
) -> "QdrantClient":
    """Return a client, which has connected to nothing yet; with a port for gRPC it prefers that.

    Connections over REST are kept as the client does by default: not on this machine, where an
    answer on a kept one waits for a delayed acknowledgement.
    """
    from qdrant_client import QdrantClient

    preferred = {"grpc_port": grpc_port, "grpc_options": dict(OPTIONS)} if grpc_port else {}
    return QdrantClient(
        url=url,
        api_key=key,
        timeout=timeout,
        check_compatibility=False,
        prefer_grpc=bool(grpc_port),
        **preferred,
    )


def is_passing(error: Exception) -> bool:
    """Say whether the same call may succeed a little later."""
    import grpc
    import httpx
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    if isinstance(error, grpc.RpcError):
        return error.code().name in PASSING_RPC
    if isinstance(error, UnexpectedResponse):
        return error.status_code in PASSING
    if isinstance(error, ResponseHandlingException):
        return isinstance(error.source, httpx.TransportError)
    return isinstance(error, ResourceExhaustedResponse)


def _is_gone(error: Any) -> bool:
    """Say whether the server answered that there is no such collection."""
    import grpc

    if isinstance(error, grpc.RpcError):
        return error.code() is grpc.StatusCode.NOT_FOUND
    return getattr(error, "status_code", None) == HTTPStatus.NOT_FOUND


def _find_reason(error: Any) -> str:
    """Return what the server gave as its reason."""
    try:
        return shorten(error.structured()["status"]["error"])
    except (ValueError, KeyError, TypeError):
        return shorten(error.reason_phrase)
