"""The engines that a command looks at, and their settings."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from assay.eval.configs.overrides import apply_override
from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.providers import STRATEGIES, describe_missing
from assay.retrievers.engines.registry import ENGINES, TYPES, EngineSettings
from assay.retrievers.settings import Resources, explain_errors
from assay.retrievers.settings.plugins import find_parts


@dataclass(frozen=True)
class ConfiguredEngine:
    """An engine by its type, with the overrides that make its settings of the defaults."""

    type: str
    overrides: tuple[str, ...]
    settings: EngineSettings

    @property
    def label(self) -> str:
        """The type, and the settings that differ from the defaults."""
        return " ".join([self.type, *self.overrides])

    def command(self, name: str, collection: str, *options: str) -> str:
        """Return the call of the command `name` that looks at it on a collection."""
        return shlex.join(["assay", name, self.type, collection, *self.overrides, *options])

    def build(self, resources: Resources) -> Engine:
        """Return the engine, which has indexed nothing yet. Raises AssayError."""
        return self.settings.build(resources)

    def vary(self, *overrides: str) -> "ConfiguredEngine":
        """Return this engine with further overrides. Raises AssayError."""
        return read_engine(self.type, (*self.overrides, *overrides))


def read_engine(type_: str, overrides: Sequence[str] = ()) -> ConfiguredEngine:
    """Return an engine by its type, with `key.path=value` overrides of its settings.

    Raises AssayError naming the key, what is wrong and what is allowed.
    """
    types = list_types()
    if type_ not in types:
        if type_ in STRATEGIES:
            raise AssayError(f"engine {type_}: {describe_missing(type_)}")
        raise AssayError(
            f"engine {type_}: no such engine; allowed: {', '.join(types)}{suggest(type_, types)}"
        )
    values: dict[str, Any] = {"type": type_}
    for override in overrides:
        apply_override(values, override, EngineSettings)
    if values["type"] != type_:
        raise AssayError(f"engine {type_}: type: stands before the overrides, not among them")
    try:
        return ConfiguredEngine(type_, tuple(overrides), _adapter().validate_python(values))
    except ValidationError as error:
        lines = explain_errors(error, EngineSettings, values)
        raise AssayError(f"engine {type_}: {'; '.join(lines)}") from None


@cache
def _adapter() -> TypeAdapter[EngineSettings]:
    return TypeAdapter(EngineSettings)


def list_types() -> list[str]:
    """Return the types of the engines of this project, then of those that packages offer."""
    return [*sorted(TYPES), *find_parts(ENGINES.group)]


def list_engines() -> list[ConfiguredEngine]:
    """Return every engine with default settings, those of this process first."""
    engines = [read_engine(type_) for type_ in list_types()]
    return sorted(engines, key=lambda engine: engine.settings.capabilities.server)


def is_usable(engine: ConfiguredEngine) -> bool:
    """Return True if an engine is usable here: installed, and if a server, with an address."""
    can = engine.settings.capabilities
    addressed = not can.server or can.embedded or bool(os.environ.get(can.address))
    return can.installed and addressed


def choose_engines(words: Sequence[str]) -> list[ConfiguredEngine]:
    """Return the engines of these types, or all that can be used here. Raises AssayError.

    A `key.path=value` is a setting of the engine before it.
    """
    named: list[tuple[str, list[str]]] = []
    for word in words:
        if "=" not in word:
            named.append((word, []))
        elif named:
            named[-1][1].append(word)
        else:
            raise AssayError(f"{word}: settings stand behind the ENGINE that they are of")
    chosen = [read_engine(type_, overrides) for type_, overrides in named]
    return chosen or list(filter(is_usable, list_engines()))
