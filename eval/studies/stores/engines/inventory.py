"""What engines there are, whether they can be used here, and what they keep that can go."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, cast

from assay.eval.configs.engine_settings import (
    ConfiguredEngine,
    is_usable,
    list_engines,
    read_engine,
)
from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import hint_extra
from assay.retrievers.engines.copies import list_leftovers, remove_leftover
from assay.retrievers.engines.providers import ENGINES, STRATEGIES, describe_missing
from assay.retrievers.engines.registry import TYPES
from assay.retrievers.engines.servers.collections import StoredIndex, StoreServer
from assay.retrievers.store.cache import Cache, default_root

ALLOWED_SECONDS = 3
READY = "ready"
# Where an engine that fuses its own lists does it.
NATIVE = ("engine", "statement", "client")


class HasServer(Protocol):
    """The settings of an engine that is a server."""

    def server(self) -> StoreServer:
        """Return the server."""
        ...


@dataclass(frozen=True, slots=True)
class EngineState:
    """An engine that a config can name.

    `fuses`, `searches`, `exact` and `met` are as in `assay.retrievers.engines.capabilities`,
    `hybrid` says who fuses; `extra` is empty where none is needed, `variable` where there is no
    server. `answers` is None where it was not asked: no server, none configured, or one that starts
    when it is used. `version` is that of the server that answers, or of what the extra brings;
    empty where neither is there. `state` says all of that in words.
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
        """Whether a config can use it as things are."""
        return self.answers or (self.answers is None and self.state.startswith(READY))


@dataclass(frozen=True, slots=True)
class ProviderState:
    """A store whose hybrid search is known, whether it has an adapter here, and what follows."""

    provider: str
    strategy: str
    adapter: bool
    note: str


@dataclass(frozen=True, slots=True)
class Removable:
    """Something that an engine keeps: `bytes` is None where that is not told."""

    engine: str
    kind: Literal["index", "leftover", "cache"]
    name: str
    detail: str
    bytes: int | None
    remove: Callable[[], None]

    def as_json(self) -> dict[str, Any]:
        """Return what it is as JSON values."""
        return {name: value for name, value in asdict(self).items() if name != "remove"}


@dataclass(frozen=True, slots=True)
class CleanupReport:
    """What was removed, what stays in the cache, and what went wrong, a line an engine."""

    removed: list[Removable]
    kept: list[Removable]
    problems: list[str]


def describe_engines() -> Iterator[EngineState]:
    """Yield every engine, those of this process first; servers that are configured are asked."""
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


def clean(names: Sequence[str], dry_run: bool, cached: bool) -> CleanupReport:
    """Remove what engines keep, or with `dry_run` find it: those named, or all that are configured.

    With `cached` that includes their built indexes in the cache. An engine that cannot be asked
    does not keep the others from being cleaned.
    """
    engines = [read_engine(name) for name in names] or list(filter(is_configured, list_engines()))
    cleaned = CleanupReport([], [], [])

    def remove(items: Iterable[Removable]) -> None:
        for item in items:
            if not dry_run:
                item.remove()
            cleaned.removed.append(item)

    for engine in engines:
        try:
            remove(find_removable(engine))
        except AssayError as error:
            cleaned.problems.append(str(error))
    in_cache = list(find_cached([engine.type for engine in engines], Cache(default_root())))
    if cached:
        remove(in_cache)
    else:
        cleaned.kept.extend(in_cache)
    return cleaned


def find_removable(engine: ConfiguredEngine) -> Iterator[Removable]:
    """Yield what an engine keeps on its server, and what killed processes left of its copies.

    Raises AssayError when the server cannot be asked.
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


def find_cached(types: Sequence[str], cache: Cache) -> Iterator[Removable]:
    """Yield what the cache keeps of engines that work in this process, by their types."""
    for usage in cache.usage():
        if usage.kind in types and not read_engine(usage.kind).settings.capabilities.server:
            yield Removable(
                usage.kind,
                "cache",
                "built indexes",
                f"{usage.entries} in the cache",
                usage.bytes,
                lambda kind=usage.kind: _clear(cache, kind),  # type: ignore[misc]
            )


def is_configured(engine: ConfiguredEngine) -> bool:
    """Say whether an engine has something here to be cleaned: a server's client and address."""
    return not engine.settings.capabilities.server or is_usable(engine)


def open_server(engine: ConfiguredEngine) -> StoreServer:
    """Return the server of an engine. Raises AssayError."""
    return cast(HasServer, engine.settings).server()


def _find_state(engine: ConfiguredEngine, configured: bool) -> tuple[bool | None, str, str]:
    """Return whether a server answers, which version is there, and what there is to say of it."""
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


def _clear(cache: Cache, kind: str) -> None:
    with suppress(AssayError):  # another process was quicker
        cache.clear(kind)
