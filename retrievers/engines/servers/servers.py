"""What this project keeps in a server that others may use too: names, a list of it, removal."""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

PREFIX = "assay_"
_NAME = re.compile(PREFIX + "[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """An index that this project made: its name there, how many texts it holds, its size.

    `bytes` is None where the server does not tell; `created` is a time in UTC as
    `2026-01-31T12:00:00Z`, empty where it is not known. `texts` is 0 for what a killed process
    left half-made.
    """

    name: str
    texts: int
    bytes: int | None = None
    created: str = ""


class Connection(Protocol):
    """Connections to a server at `url`."""

    url: str

    def close(self) -> None:
        """Close them; may be called twice."""
        ...


C = TypeVar("C", bound=Connection)


class IndexServer(ABC):
    """A server that keeps indexes, seen only for those that this project made in it.

    Every method raises AssayError, in one line that names the engine and the host.
    """

    @property
    @abstractmethod
    def url(self) -> str:
        """Where the server is: scheme, host, port and what is below, without user or password."""

    @abstractmethod
    def list_stored(self) -> list[StoredIndex]:
        """Return the indexes that this project made there, half-made ones too, by name."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Remove one of those listed.

        Raises AssayError for a name that this project did not give; that it is gone is no error.
        """

    def read_version(self) -> str:
        """Return the server's version, empty where it does not tell."""
        return ""

    def close(self) -> None:
        """Release connections and processes; may be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ConnectedServer(IndexServer, Generic[C]):
    """A server that is asked over one client's connections."""

    def __init__(self, connection: C) -> None:
        self._connection = connection

    @property
    def url(self) -> str:
        """The address that was given."""
        return self._connection.url

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()


def name_index(key: str) -> str:
    """Return the name of the index whose content has the digest `key`, of hex digits."""
    return f"{PREFIX}{key[:16]}"


def is_index_name(name: str) -> bool:
    """Say whether `name` is one that `name_index` gives."""
    return _NAME.fullmatch(name) is not None
