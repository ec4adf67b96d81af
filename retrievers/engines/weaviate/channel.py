"""Weaviate's gRPC channel with every failed call reported at once.

The client itself makes a call that found the server unavailable again up to six times, with
pauses of a minute in all, which would be counted as the server's latency. Needs the extra
`weaviate`: import this where it is used.
"""

from collections.abc import Callable
from typing import Any

import grpc
from weaviate.connect import ConnectionParams


class RpcError(Exception):
    """A gRPC call that failed: the name of its status, and what the server says of it."""

    def __init__(self, status: str, details: str) -> None:
        super().__init__(f"{status}: {details}")
        self.status = status
        self.details = details


class _Teller(grpc.UnaryUnaryClientInterceptor):  # type: ignore[misc]
    """Raises what the client does not know how to catch."""

    def intercept_unary_unary(
        self, continuation: Callable[[Any, Any], Any], details: Any, request: Any
    ) -> Any:
        answer = continuation(details, request)
        if (status := answer.code()) is not grpc.StatusCode.OK:
            raise RpcError(status.name, str(answer.details()))
        return answer


class TellingParams(ConnectionParams):  # type: ignore[misc]
    """Where the server is, and how its channel is made."""

    def _grpc_channel(self, *args: Any, **kwargs: Any) -> Any:
        return grpc.intercept_channel(super()._grpc_channel(*args, **kwargs), _Teller())
