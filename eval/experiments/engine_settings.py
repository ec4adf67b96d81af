"""Which engines are looked at, with which settings."""

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from eval.experiments.overrides import apply_override
from retrievers.base import AssayError
from retrievers.engines.base import Engine
from retrievers.engines.providers import STRATEGIES, describe_missing
from retrievers.engines.registry import ENGINES, TYPES, EngineSettings
from retrievers.settings import Workshop, explain_error
from retrievers.settings.plugins import find_parts


@dataclass(frozen=True)
class Subject:
    """An engine by its type, its settings, and the overrides that make these of the defaults."""

    type: str
    overrides: tuple[str, ...]
    settings: EngineSettings

    @property
    def label(self) -> str:
        """The engine with what is not as by default."""
        return " ".join([self.type, *self.overrides])

    def build(self, workshop: Workshop) -> Engine:
        """Return the engine, which has indexed nothing yet. Raises AssayError."""
        return self.settings.build(workshop)

    def command(self, name: str, collection: str, *options: str) -> str:
        """Return the call of the command `name` that looks at this engine on a collection."""
        return shlex.join(["assay", name, self.type, collection, *self.overrides, *options])

    def vary(self, *overrides: str) -> "Subject":
        """Return this engine with further overrides. Raises AssayError."""
        return read_subject(self.type, (*self.overrides, *overrides))


def read_subject(type_: str, overrides: Sequence[str] = ()) -> Subject:
    """Return an engine by its type, with `key.path=value` overrides of its settings.

    Raises AssayError naming the key, what is wrong and what is allowed.
    """
    types = list_types()
    if type_ not in types:
        if type_ in STRATEGIES:
            raise AssayError(f"engine {type_}: {describe_missing(type_)}")
        raise AssayError(f"engine {type_}: no such engine; allowed: {', '.join(types)}")
    values: dict[str, Any] = {"type": type_}
    for override in overrides:
        apply_override(values, override)
    if values["type"] != type_:
        raise AssayError(f"engine {type_}: type: stands before the overrides, not among them")
    adapter: TypeAdapter[EngineSettings] = TypeAdapter(EngineSettings)
    try:
        return Subject(type_, tuple(overrides), adapter.validate_python(values))
    except ValidationError as error:
        keys = type(adapter.validate_python({"type": type_})).model_fields
        unknown = error.errors()[0]["type"] == "extra_forbidden"
        allowed = f"; allowed: {', '.join(keys)}" if unknown else ""
        raise AssayError(f"engine {explain_error(error).replace('.', ': ', 1)}{allowed}") from None


def list_types() -> list[str]:
    """Return the types of the engines of this project, then of those that packages offer."""
    return [*sorted(TYPES), *find_parts(ENGINES.group)]


def list_subjects() -> Iterator[Subject]:
    """Yield every engine as it is by default, then with each other fusion it has.

    Those of this process come first.
    """
    subjects = [read_subject(type_) for type_ in list_types()]
    for subject in sorted(subjects, key=lambda item: item.settings.capabilities.server):
        yield subject
        yield from (subject.vary(f"fusion={fusion}") for fusion in _other_fusions(subject))


def _other_fusions(subject: Subject) -> Iterator[str]:
    """Yield the fusions that an engine can be told by name or type, but for the one it has."""
    field = type(subject.settings).model_fields.get("fusion")
    own = getattr(subject.settings, "fusion", None)
    for choice in get_args(field.annotation) if field else ():
        if isinstance(choice, str) and choice != own:
            yield choice
        elif (
            isinstance(choice, type)
            and issubclass(choice, BaseModel)
            and not isinstance(own, choice)
        ):
            (name,) = get_args(choice.model_fields["type"].annotation)
            yield f"{{type: {name}}}"


def is_missing(subject: Subject, reason: str) -> bool:
    """Say whether an engine failed for want of its extra, or of the address of its server."""
    address = f"{subject.type.upper().replace('-', '_')}_URL"
    return "needs the extra" in reason or (address in reason and not os.environ.get(address))
