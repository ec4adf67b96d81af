"""The base of stores: their operations in the order of use, and their errors."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

from assay.retrievers.base import AssayError
from assay.retrievers.engines.adapter import Allowed
from assay.retrievers.engines.base import EngineLists
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.services.addresses import read_address, shorten
from assay.retrievers.services.retries import MISREAD, PASSING, call, read_retry_after
from assay.retrievers.store.cache import default_root

T = TypeVar("T")
DENIED = (401, 403)
GONE, TAKEN, LATER = 404, 409, 503
LAST = 10**9  # rows, more than any collection has
_HEADERS = ("headers", "response.headers", "meta.headers")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Fault:
    """The meaning of a client's error.

    `kind` is `answered` if the server replied with a `status`, `late` if the reply timed out,
    `lost` if the server was unreachable, or `garbled` if the reply was invalid. `status` is an
    HTTP status, 0 if none fits. `wait` is the seconds that the server asks to wait.
    """

    kind: Literal["answered", "late", "lost", "garbled"]
    said: object = ""
    status: int = 0
    wait: float = 0.0

    @property
    def passing(self) -> bool:
        """True if the same call may succeed a little later."""
        return self.kind in ("late", "lost") or self.status in PASSING


class GoneError(AssayError):
    """The server has no object of the requested name."""


class TakenError(AssayError):
    """An object of that name exists already."""


class IncompleteError(Exception):
    """The server did part of a request; a retry may do all of it."""


_KINDS: dict[int, type[AssayError]] = {GONE: GoneError, TAKEN: TakenError}


@dataclass(frozen=True, slots=True)
class Row:
    """One text of a collection.

    - `id`: identifies the place in a document of this content, wherever it is in the collection.
    - `before`: the id of the row right before in the document, None at its start.
    - `document`: empty if no document is known.
    """

    id: str
    position: int
    text: str
    vector: list[float]
    document: str
    before: str | None


class Target(NamedTuple):
    """A collection to search, and the positions that may be found, None for all."""

    name: str
    allowed: Allowed | None


class Store(ABC):
    """The operations of one store; safe to use from several threads.

    Each operation may raise the errors of its client.

    - `faults`: the fault of each error, by the code of the client's exception, which is its
      attribute `code_key`, by its name, or by the name of a class that it extends.
    - `rows_per_request`, `bytes_per_request`, `in_flight`: the most rows and bytes in a request,
      and the requests at a time.
    - `separator`: the character between the parts of a name if the server allows no underscore.
    - `eventual`: True if the store may for a while count fewer rows than it holds.
    - `deepest`: the most rows that it returns of one list.
    - `needs_key`: if false, the variable `key` may be unset.
    - `modules`: the modules to import; all of the extra's if none is named.
    - `root`: the root of an engine's cache; None if only collections are listed.
    - `address`, `address_words`: the form of its address if it is not HTTP, and the same in words.
    """

    engine: ClassVar[str]
    vendor: ClassVar[str]
    key: ClassVar[str]
    user: ClassVar[str] = ""
    needs_key: ClassVar[bool] = True
    address: ClassVar["re.Pattern[str] | None"] = None
    address_words: ClassVar[str] = ""
    credential: ClassVar[str] = "the key"
    way_out: ClassVar[str] = ""
    modules: ClassVar[tuple[str, ...]] = ()
    faults: ClassVar[Mapping[str, Fault]]
    code_key: ClassVar[str] = "code"
    separator: ClassVar[str] = "_"
    eventual: ClassVar[bool] = False
    rows_per_request: ClassVar[int] = 500
    bytes_per_request: ClassVar[int] = 5_000_000
    in_flight: ClassVar[int] = 1
    deepest: ClassVar[int] = LAST
    most_listed: ClassVar[int] = LAST
    # True if an approximate index skips forbidden texts during a search, not after it.
    filters_graph: ClassVar[bool] = True
    # Those of `servers.engine.ServerSettings`; each store says which.
    settings: Any
    version: str = ""

    def __init__(self, settings: Any, root: Path | None = None) -> None:
        self.settings = settings
        self.is_engine = root is not None
        self.root = root or default_root()
        self.url = self.read_url()
        settings.capabilities.load(*self.modules)
        self.secret = ""
        if self.needs_key or os.environ.get(self.key):
            self.secret = read_key(self.engine, self.key)
        # Facts of an engine on this store, as JSON values.
        self.facts: dict[str, Any] = {}
        self.connect()
        try:
            self.version = self.ask(self.read_version) if self.exists() else ""
        except BaseException:
            self.close()
            raise

    def read_url(self) -> str:
        """Return the address of the server. Raises AssayError, which repeats nothing of it."""
        variable = self.settings.capabilities.address
        if self.address is None:
            return read_address(self.engine, variable)
        url = os.environ.get(variable, "")
        if not self.address.fullmatch(url) or not _has_port(url):
            raise AssayError(
                f"engine {self.engine}: set {variable} to the server's address, "
                f"{self.address_words}, without user and password; these are {self.user} and "
                f"{self.key}"
            )
        return url.rstrip("/")

    def read_user(self) -> str:
        """Return the user of the server. Raises AssayError."""
        if not (user := os.environ.get(self.user, "")):
            raise AssayError(f"engine {self.engine}: set {self.user} to a user of the server")
        return user

    @abstractmethod
    def connect(self) -> None:
        """Make the client, without retries of its own: they are made and counted here."""

    def exists(self) -> bool:
        """Return True if the server exists: an embedded one may not have been started yet."""
        return True

    @abstractmethod
    def read_version(self) -> str:
        """Return the server's version. Raises AssayError if it is not this vendor's server."""

    def prepare(self, texts: Sequence[str], dimensions: int) -> dict[str, Any]:
        """Return the facts of texts that are needed to put them, as JSON values.

        The collection's note has them. Raises AssayError for texts that cannot be stored.
        """
        return {}

    @abstractmethod
    def create(self, name: str, texts: int, dimensions: int, note: str) -> None:
        """Create an empty collection for `texts` texts, with the note.

        If it exists, an earlier attempt whose reply was lost created it.
        """

    def is_made(self, name: str) -> bool:
        """Return True if the collection takes rows."""
        return True

    @abstractmethod
    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Put rows in place of those of the same id."""

    def finish(self, name: str) -> None:
        """Wait until all rows can be found, or make the server begin to index them."""

    def is_ready(self, name: str) -> bool:
        """Return True if the server has finished."""
        return True

    def replace(self, name: str, rows: Sequence[Row], note: str) -> None:
        """Make a collection hold these rows and no others, at once or not at all."""
        raise NotImplementedError

    @abstractmethod
    def count(self, name: str) -> int:
        """Return how many rows can be found."""

    @abstractmethod
    def mark(self, name: str, note: str) -> None:
        """Put a note in place of the one before."""

    @abstractmethod
    def find_notes(self) -> dict[str, str]:
        """Return the notes by the names of the collections, whoever made those."""

    def find_sizes(self) -> dict[str, int]:
        """Return the bytes of collections by name; empty if the server does not report them."""
        return {}

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a collection; it may be gone."""

    def dense(self, target: Target, vector: Vectors, limit: int) -> list[Scored]:
        """Return the `limit` positions of greatest cosine."""
        raise NotImplementedError

    def keyword(self, target: Target, text: str, limit: int) -> list[Scored]:
        """Return the `limit` positions of greatest keyword score."""
        raise NotImplementedError

    def hybrid(self, target: Target, text: str, vector: Vectors) -> list[Scored]:
        """Return the store's fusion of both lists, each cut at its depth, in any order."""
        raise NotImplementedError

    def lists(self, target: Target, text: str, vector: Vectors) -> EngineLists | None:
        """Return the two fused lists if the store decides their depth; else None."""
        return None

    def beside(self, name: str, positions: Sequence[int]) -> list[list[int]]:
        """Return, for each position, those right before and after it in its document."""
        raise NotImplementedError

    @abstractmethod
    def close(self) -> None:
        """Close the connections; may be called twice."""

    def can_restrict(self) -> bool:
        """Return True if this server skips forbidden texts during a search."""
        return True

    def spell(self, name: str) -> str:
        """Return a collection's name as the server has it."""
        return name.replace("_", self.separator)

    def ask(self, action: Callable[[], T]) -> T:
        """Return the result of `action`, retried after faults that may pass.

        Raises AssayError in one line.
        """
        try:
            return call(action, self.settings.retries, self._is_passing, self._find_wait)
        except Exception as error:
            fault = self.find_fault(error)
            if fault is None and isinstance(error, MISREAD):
                fault = Fault("garbled")
            if fault is None:
                raise
            kind = _KINDS.get(fault.status, AssayError)
            raise kind(f"{self.engine} at {self.url}: {self._describe(fault)}") from error

    def make(self, action: Callable[[], object]) -> None:
        """Do what makes something under a name that no other process gives; it may be there."""
        try:
            action()
        except Exception as error:
            fault = self.find_fault(error)
            if fault is None or fault.status != TAKEN:
                raise

    @contextmanager
    def suppress_gone(self) -> Iterator[list[Exception]]:
        """Pass over, and give, an error of the client that says that something is not there."""
        gone: list[Exception] = []
        try:
            yield gone
        except Exception as error:
            fault = self.find_fault(error)
            if fault is None or fault.status != GONE:
                raise
            gone.append(error)

    def drop(self, name: str) -> None:
        """Remove a collection; it may be gone."""
        with suppress(GoneError):
            self.ask(lambda: self.remove(name))

    def refuse(self, problem: str) -> AssayError:
        """Return the error of a server that cannot serve a request."""
        return AssayError(f"{self.engine} at {self.url}: {problem}")

    @classmethod
    def find_fault(cls, error: Exception) -> Fault | None:
        """Return the fault of an error in the table; None if the server did not cause it."""
        if isinstance(error, IncompleteError):
            return Fault("answered", error, LATER)
        code = str(getattr(error, cls.code_key, ""))
        for name in (code, *(kind.__name__ for kind in type(error).__mro__)):
            if found := cls.faults.get(name):
                status = found.status
                if found.kind == "answered":
                    status = status or cls.read_status(error)
                return Fault(found.kind, found.said or cls.say(error), status, _read_wait(error))
        return None

    @classmethod
    def say(cls, error: Any) -> object:
        """Return the message of a client's error."""
        return error

    @classmethod
    def read_status(cls, error: Any) -> int:
        """Return the status of HTTP with which the server answered, 0 if there is none."""
        status = getattr(error, "status_code", 0)
        return status if isinstance(status, int) else 0

    def _is_passing(self, error: Exception) -> bool:
        fault = self.find_fault(error)
        return fault is not None and fault.passing

    def _find_wait(self, error: Exception) -> float:
        fault = self.find_fault(error)
        return fault.wait if fault else 0.0

    def _describe(self, fault: Fault) -> str:
        if fault.kind == "garbled":
            return f"answered what no {self.vendor} answers"
        said = str(fault.said)
        said = shorten(said.replace(self.secret, "…") if self.secret else said)
        if fault.status in DENIED:
            mend = self.way_out or f"set {self.key} to one that it knows"
            told = f"{fault.status}: {said}" if fault.status == 403 and said else fault.status
            return f"refuses {self.credential} ({told}); {mend}"
        tries = self.settings.retries.tell(fault.passing)
        if fault.kind == "late":
            return f"no answer within {self.settings.timeout_seconds:g} s{tries}"
        if fault.kind == "lost":
            return f"cannot be reached: {said}{tries}"
        status = f" {fault.status}" if fault.status else ""
        return f"answered{status}: {said}{tries}"


def _has_port(url: str) -> bool:
    """Return True if the port of an address, if it names one, is valid."""
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


def read_key(engine: str, variable: str) -> str:
    """Return the key that the environment holds. Raises AssayError, which repeats nothing of it."""
    key = os.environ.get(variable, "")
    if not key:
        raise AssayError(f"engine {engine}: set {variable} to the service's key")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise AssayError(f"engine {engine}: {variable} is no key: it has a space or a line's end")
    return key


def find_words(text: str) -> list[str]:
    """Return the words of a text, of letters and digits alone, each once, in lower case.

    They are for query languages in which other characters are operators.
    """
    return list(dict.fromkeys(_WORD.findall(text.lower())))


def _read_wait(error: Exception) -> float:
    """Return the seconds that the server asks to wait."""
    for path in _HEADERS:
        with suppress(AttributeError, TypeError, ValueError):
            headers = attrgetter(path)(error) or {}
            lowered = {str(name).lower(): value for name, value in dict(headers).items()}
            return read_retry_after(lowered) or 0.0
    return float(getattr(error, "retry_after_s", 0.0))
