"""Which engines are looked at, with which settings."""

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from assay.eval.configs.overrides import apply_override
from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.providers import STRATEGIES, describe_missing
from assay.retrievers.engines.registry import ENGINES, TYPES, EngineSettings
from assay.retrievers.settings import Resources, explain_errors, name_type
from assay.retrievers.settings.plugins import find_parts


@dataclass(frozen=True)
class ConfiguredEngine:
    """An engine by its type, its settings, and the overrides that make these of the defaults."""

    type: str
    overrides: tuple[str, ...]
    settings: EngineSettings

    @property
    def label(self) -> str:
        """The engine with what is not as by default."""
        return " ".join([self.type, *self.overrides])

    def build(self, resources: Resources) -> Engine:
        """Return the engine, which has indexed nothing yet. Raises AssayError."""
        return self.settings.build(resources)

    def command(self, name: str, collection: str, *options: str) -> str:
        """Return the call of the command `name` that looks at this engine on a collection."""
        return shlex.join(["assay", name, self.type, collection, *self.overrides, *options])

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
    """Return every engine as it is by default, those of this process first."""
    engines = [read_engine(type_) for type_ in list_types()]
    return sorted(engines, key=lambda engine: engine.settings.capabilities.server)


def is_usable(engine: ConfiguredEngine) -> bool:
    """Say whether an engine can be used here: installed, and of a server the address set."""
    can = engine.settings.capabilities
    addressed = not can.server or can.embedded or bool(os.environ.get(can.address))
    return can.installed and addressed


def choose_engines(words: Sequence[str]) -> list[ConfiguredEngine]:
    """Return the engines of these types, or all that can be used here. Raises AssayError.

    A `key.path=value` is a setting of the engine that stands before it.
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


def list_fusions() -> Iterator[ConfiguredEngine]:
    """Yield every engine as `list_engines` does, each then with every other fusion it has."""
    for engine in list_engines():
        yield engine
        yield from (engine.vary(f"fusion={fusion}") for fusion in _other_fusions(engine))


def list_features() -> list[dict[str, str]]:
    """Return what not every version of a server has, of every engine."""
    return [
        {
            "engine": engine.type,
            "what": feature.what,
            "least": feature.least,
            "beside": feature.beside,
        }
        for engine in list_engines()
        for feature in engine.settings.capabilities.features
    ]


def list_met() -> dict[str, str]:
    """Return by engine the versions that the tests have met, `here` for one of this process.

    Nothing where they have met only a stand-in.
    """
    capabilities = {engine.type: engine.settings.capabilities for engine in list_engines()}
    return {type_: can.met if can.server else "here" for type_, can in capabilities.items()}


def _other_fusions(engine: ConfiguredEngine) -> Iterator[str]:
    """Yield the fusions that an engine can be told by name or settings, but for the one it has."""
    field = type(engine.settings).model_fields.get("fusion")
    own = getattr(engine.settings, "fusion", None)
    for choice in get_args(field.annotation) if field else ():
        if isinstance(choice, str) and choice != own:
            yield choice
        elif isinstance(choice, type) and issubclass(choice, BaseModel):
            yield from (
                yaml.safe_dump(values, default_flow_style=True, sort_keys=False).strip()
                for values in _choose_each(choice)
                if choice.model_validate(values) != own
            )


def _choose_each(fusion: type[BaseModel]) -> Iterator[dict[str, str]]:
    """Yield the type of a fusion with every choice of words that it allows, its defaults first."""
    choices = {
        name: get_args(field.annotation)
        for name, field in fusion.model_fields.items()
        if name != "type" and get_origin(field.annotation) is Literal
    }
    defaults = {name: fusion.model_fields[name].default for name in choices}
    for chosen in product(*choices.values()):
        words = dict(zip(choices, chosen, strict=True))
        values = {"type": name_type(fusion)} | {
            name: word for name, word in words.items() if word != defaults[name]
        }
        with suppress(ValidationError):
            fusion.model_validate(values)
            yield values


def is_missing(engine: ConfiguredEngine, reason: str) -> bool:
    """Say whether an engine failed for want of its extra, or of the address of its server."""
    can = engine.settings.capabilities
    addressed = not can.server or bool(os.environ.get(can.address))
    return can.missing in reason or (not addressed and can.address in reason)
