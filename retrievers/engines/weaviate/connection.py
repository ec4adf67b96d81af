"""Calls to a Weaviate server, and what goes wrong in them."""

import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.engines.capabilities import Capabilities, Feature
from assay.retrievers.engines.servers.service_collections import Notes
from assay.retrievers.services.addresses import read_address, read_port, shorten
from assay.retrievers.services.retries import (
    DENIED_RPC,
    MISREAD,
    PASSING,
    PASSING_RPC,
    RetrySettings,
    call,
)
from assay.retrievers.settings import Settings

if TYPE_CHECKING:
    from weaviate import WeaviateClient

T = TypeVar("T")

FILTERS = Feature("filters by identifiers", (1, 33))
CAPABILITIES = Capabilities(
    "engine",
    approximate=("hnsw",),
    extra="weaviate",
    modules=("weaviate",),
    packages=("weaviate-client",),
    address="WEAVIATE_URL",
    met="1.39.0",
    restricts=True,
    # Texts of equal score enter fusion in the order in which they were stored, many at a time.
    reproducible="never",
)
GRPC_PORT = "WEAVIATE_GRPC_PORT"
KEY = "WEAVIATE_API_KEY"
DEFAULT_GRPC_PORT = 50051
# A server that comes back is found soon, not after the two minutes that a channel may wait.
CHANNEL = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 2000)]


class WeaviateConnectionSettings(Settings):
    """How long to wait for the server, and how often to ask again."""

    timeout_seconds: float = Field(30.0, gt=0, le=3600, description="seconds to wait for an answer")
    retries: RetrySettings = Field(
        default_factory=RetrySettings,
        description="after 429, 502, 503, 504, UNAVAILABLE and an answer that took too long",
    )


class WeaviateConnection(Notes):
    """Asks the server of WEAVIATE_URL, over REST for collections and gRPC for what is in them.

    A note is a collection's description. Safe to use from several threads.
    """

    engine = "weaviate"
    eventual = False

    def __init__(self, settings: WeaviateConnectionSettings) -> None:
        self._settings = settings
        self.url = read_address("weaviate", CAPABILITIES.address)
        self.grpc_port = read_port("weaviate", GRPC_PORT, DEFAULT_GRPC_PORT)
        client = make_client(self.url, self.grpc_port, settings.timeout_seconds)
        try:
            self._run(client.connect)
        except BaseException:
            client.close()
            raise
        self._client = client

    def ask(self, action: Callable[["WeaviateClient"], T]) -> T:
        """Return what `action` gives with the client; it is done again where a fault may pass."""
        return self._run(lambda: action(self._client))

    def spell(self, name: str) -> str:
        """Return the name with the capital letter with which Weaviate's begin."""
        return name.capitalize()

    def read_version(self) -> str:
        """Return the server's version."""
        return str(self.ask(lambda client: client.get_meta())["version"])

    def list_notes(self) -> dict[str, str]:
        """Return the descriptions of all collections by their names.

        The client's own list is of no use here: it fails where a collection of somebody else's has
        an index of a kind that it does not know.
        """
        import httpx

        headers = {"Authorization": f"Bearer {key}"} if (key := os.environ.get(KEY)) else {}

        def read() -> dict[str, str]:
            answer = httpx.get(
                f"{self.url}/v1/schema",
                headers=headers,
                timeout=self._settings.timeout_seconds,
                trust_env=False,
            )
            classes = answer.raise_for_status().json()["classes"]
            return {each["class"]: each.get("description") or "" for each in classes}

        return self._run(read)

    def write_note(self, name: str, note: str) -> None:
        """Put the note into the description."""
        self.ask(lambda client: client.collections.use(name).config.update(description=note))

    def count(self, name: str) -> int:
        """Return how many texts can be found."""
        answer = self.ask(
            lambda client: client.collections.use(name).aggregate.over_all(total_count=True)
        )
        return int(answer.total_count or 0)

    def drop(self, name: str) -> None:
        """Remove a collection; that it is gone is no error."""
        self.ask(lambda client: client.collections.delete(name))

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._client.close()

    def _run(self, action: Callable[[], T]) -> T:
        try:
            return call(action, self._settings.retries, is_passing)
        except Exception as error:
            if (problem := self._describe(error)) is None:
                raise
            raise AssayError(f"weaviate at {self.url}: {problem}") from error

    def _describe(self, error: Exception) -> str | None:
        """Return in words what went wrong; None for what no server does."""
        import httpx
        from weaviate import exceptions

        from assay.retrievers.engines.weaviate.channel import RpcError

        after = self._settings.retries.tell(is_passing(error))
        if isinstance(error, RpcError):
            return f"{self._describe_rpc(error)}{after}"
        if status := _find_status(error):
            if status in (401, 403):
                return f"refuses the key ({status}); set {KEY} to one that it knows"
            return f"answered {status}: {shorten(getattr(error, 'error', ''))}{after}"
        if _find(error, httpx.TimeoutException):
            return f"no answer within {self._settings.timeout_seconds:g} s{after}"
        if lost := _find(error, httpx.TransportError):
            return f"cannot be reached: {shorten(lost)}{after}"
        if isinstance(error, (exceptions.ResponseCannotBeDecodedError, *MISREAD)):
            return "answered what no Weaviate answers"
        return shorten(error) if isinstance(error, exceptions.WeaviateBaseError) else None

    def _describe_rpc(self, error: Any) -> str:
        where = f"gRPC at port {self.grpc_port}"
        if error.status in DENIED_RPC:
            return f"{where} refuses the key ({error.status}); set {KEY} to one that it knows"
        if error.status == "DEADLINE_EXCEEDED":
            return f"{where}: no answer within {self._settings.timeout_seconds:g} s"
        if error.status == "UNAVAILABLE":
            return (
                f"{where} cannot be reached: {shorten(error.details)}; another port is set by "
                f"{GRPC_PORT}"
            )
        return f"{where} answered {error.status}: {shorten(error.details)}"


def make_client(url: str, grpc_port: int, timeout: float) -> "WeaviateClient":
    """Return a client, which has connected to nothing yet."""
    CAPABILITIES.load()
    from weaviate import WeaviateClient
    from weaviate.classes.init import AdditionalConfig, Auth, Timeout
    from weaviate.config import GrpcConfig

    from assay.retrievers.engines.weaviate.channel import TellingParams

    # Without a handler the client's messages of each failed batch would go to the terminal.
    logging.getLogger("weaviate-client").addHandler(logging.NullHandler())
    try:
        params = TellingParams.from_url(url, grpc_port)
    except ValueError as error:
        raise AssayError(
            f"engine weaviate: {CAPABILITIES.address} and {GRPC_PORT}: {shorten(error)}"
        ) from None
    key = os.environ.get(KEY)
    return WeaviateClient(
        connection_params=params,
        auth_client_secret=Auth.api_key(key) if key else None,
        additional_config=AdditionalConfig(
            timeout=Timeout(init=timeout, query=timeout, insert=timeout),
            grpc_config=GrpcConfig(channel_options=CHANNEL),
        ),
        skip_init_checks=True,
    )


def is_passing(error: Exception) -> bool:
    """Say whether the same call may succeed a little later."""
    import httpx

    from assay.retrievers.engines.weaviate.channel import RpcError

    if isinstance(error, RpcError):
        return error.status in PASSING_RPC
    if status := _find_status(error):
        return status in PASSING
    return _find(error, httpx.TransportError) is not None


def _find_status(error: Exception) -> int | None:
    """Return the HTTP status that is this error."""
    import httpx
    from weaviate.exceptions import UnexpectedStatusCodeError

    if isinstance(error, UnexpectedStatusCodeError):
        return int(error.status_code)
    return error.response.status_code if isinstance(error, httpx.HTTPStatusError) else None


def _find(error: BaseException | None, type_: type[BaseException]) -> BaseException | None:
    """Return the error of this type that led to `error`: the client wraps what it catches."""
    while error is not None and not isinstance(error, type_):
        error = error.__cause__ or error.__context__
    return error
