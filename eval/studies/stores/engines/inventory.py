"""The inventory of engines: those usable here, and the removable data that they keep."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, cast

from assay.eval.configs.engine_settings import (
    ConfiguredEngine,
    is_usable,
    list_engines,
    read_engine,
)
from assay.eval.runs.json_form import in_json
from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import hint_extra
from assay.retrievers.engines.copies import list_leftovers, remove_leftover
from assay.retrievers.engines.providers import ENGINES, STRATEGIES, describe_missing
from assay.retrievers.engines.registry import TYPES
from assay.retrievers.engines.servers.collections import StoredIndex, StoreServer

ALLOWED_SECONDS = 3
READY = "ready"
# The places where an engine fuses its own lists.
NATIVE = ("engine", "statement", "client")


class HasServer(Protocol):
    """The settings of an engine that is a server."""

    def server(self) -> StoreServer:
        """Return the server."""
        ...


@dataclass(frozen=True, slots=True)
class EngineState:
    """An engine that a config can name.

    Attributes:
        type: The type of the engine.
        summary: A sentence about the engine.
        where: "server" or "embedded".
        fuses: As in `assay.retrievers.engines.capabilities`.
        hybrid: "native" if the engine fuses its own lists, else "fallback".
        searches: As in `assay.retrievers.engines.capabilities`.
        exact: As in `assay.retrievers.engines.capabilities`.
        met: As in `assay.retrievers.engines.capabilities`.
        extra: The extra that it needs; empty if none.
        installed: True if the packages of the extra are installed.
        variable: The environment variable of the server's address; empty without a server.
        configured: True if that variable is set.
        answers: True if the server answers; None if it was not asked, because there is no server,
            none is configured, or it starts on use.
        version: The version of the server that answers, or of the package; empty if neither.
        state: The state in words.
    """

    type: str
    summary: str
    where: Literal["embedded", "server"]
    fuses: str
    hybrid: Literal["native", "fallback"]
    searches: tuple[str, ...]
    exact: bool
    met: str
    extra: str
    installed: bool
    variable: str
    configured: bool
    answers: bool | None
    version: str
    state: str

    @property
    def ready(self) -> bool:
        """True if a config can use the engine now."""
        return self.answers or (self.answers is None and self.state.startswith(READY))


@dataclass(frozen=True, slots=True)
class ProviderState:
    """A store whose hybrid search is known; `adapter` is True if Assay has an engine for it."""

    provider: str
    strategy: str
    adapter: bool
    note: str


@in_json(..., but=("remove",))
@dataclass(frozen=True, slots=True)
class Removable:
    """Data that an engine keeps and that can be removed; `bytes` is None if unknown."""

    engine: str
    kind: Literal["index", "leftover"]
    name: str
    detail: str
    bytes: int | None
    remove: Callable[[], None]


@dataclass(frozen=True, slots=True)
class CleanupReport:
    """The removed data, and the problems, a line per engine."""

    removed: list[Removable]
    problems: list[str]


def describe_engines() -> Iterator[EngineState]:
    """Yield every engine, embedded ones first; configured servers are asked."""
    for engine in list_engines():
        can = engine.settings.capabilities
        configured = can.server and bool(os.environ.get(can.address))
        answers, version, state = _find_state(engine, configured)
        yield EngineState(
            type=engine.type,
            summary=" ".join((type(engine.settings).__doc__ or "").partition("\n\n")[0].split()),
            where="server" if can.server else "embedded",
            fuses=can.fuses,
            hybrid="native" if can.fuses in NATIVE else "fallback",
            searches=can.searches,
            exact=can.exact,
            met=can.met,
            extra=can.extra,
            installed=can.installed,
            variable=can.address,
            configured=configured,
            answers=answers,
            version=version,
            state=state,
        )


def list_providers() -> Iterator[ProviderState]:
    """Yield the stores whose hybrid search is known, in the order of the table."""
    for provider, strategy in STRATEGIES.items():
        engine = ENGINES.get(provider, provider)
        adapter = engine in TYPES
        note = f"the engine {engine}" if adapter else describe_missing(provider)
        yield ProviderState(provider, strategy, adapter, note)


def clean(names: Sequence[str], dry_run: bool) -> CleanupReport:
    """Remove the data that engines keep outside the cache, or only list it with `dry_run`.

    Cleans the engines of `names`, or all configured ones. If an engine cannot be asked, the others
    are still cleaned.
    """
    engines = [read_engine(name) for name in names] or list(filter(is_configured, list_engines()))
    cleaned = CleanupReport([], [])
    for engine in engines:
        try:
            for item in find_removable(engine):
                if not dry_run:
                    item.remove()
                cleaned.removed.append(item)
        except AssayError as error:
            cleaned.problems.append(str(error))
    return cleaned


def find_removable(engine: ConfiguredEngine) -> Iterator[Removable]:
    """Yield the data of an engine on its server, and copies left over from killed processes.

    Raises AssayError if the server cannot be asked.
    """
    for leftover in list_leftovers(engine.type):
        yield Removable(
            engine.type,
            "leftover",
            str(leftover.path),
            "copy of a killed process",
            leftover.bytes,
            lambda leftover=leftover: remove_leftover(leftover),  # type: ignore[misc]
        )
    if engine.settings.capabilities.server:
        with open_server(engine) as server:
            for stored in server.list_stored():
                yield _describe_index(engine.type, server, stored)


def is_configured(engine: ConfiguredEngine) -> bool:
    """Return True if an engine can be cleaned: it is embedded, or its server is usable."""
    return not engine.settings.capabilities.server or is_usable(engine)


def open_server(engine: ConfiguredEngine) -> StoreServer:
    """Return the server of an engine. Raises AssayError."""
    return cast(HasServer, engine.settings).server()


def _find_state(engine: ConfiguredEngine, configured: bool) -> tuple[bool | None, str, str]:
    """Return `answers`, `version` and `state` of an `EngineState`."""
    can = engine.settings.capabilities
    if not can.installed:
        return None, "", hint_extra(can.extra)
    if not can.server:
        return None, can.list_versions()[0], READY
    if not configured:
        missing = f"{can.address} is not set"
        return None, "", f"{READY}, embedded: {missing}" if can.embedded else missing
    patience = f"timeout_seconds={ALLOWED_SECONDS}"
    try:
        with open_server(engine.vary("retries.attempts=1", patience)) as server:
            version, stored = server.read_version(), len(server.list_stored())
            return True, version, f"answers at {server.url}, indexes of Assay: {stored}"
    except AssayError as error:
        return False, "", str(error)


def _describe_index(type_: str, server: StoreServer, stored: StoredIndex) -> Removable:
    detail = f"{stored.texts} texts" if stored.texts else "half-made"
    created = f" of {stored.created}" if stored.created else ""
    return Removable(
        type_,
        "index",
        stored.name,
        f"{detail}{created}, at {server.url}",
        stored.bytes,
        lambda: server.drop(stored.name),
    )
