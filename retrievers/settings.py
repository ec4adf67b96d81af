"""Typed settings: what a YAML file may say, and how each component comes to be built from it."""

from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict, ValidationError

from retrievers.base import Progress, Quiet
from retrievers.store.cache import Cache


class Settings(BaseModel):
    """Base of every settings class: unknown keys and silent conversions are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True, slots=True)
class Workshop:
    """What a component may use while it works, none of which is part of what it is."""

    cache: Cache
    progress: Progress = field(default_factory=Quiet)
    threads: int = 2


def explain_error(error: ValidationError) -> str:
    """Return the first of Pydantic's complaints: the key and what is wrong."""
    first = error.errors()[0]
    # A union of forms complains of each by its name, which is no key.
    parts = [str(part) for part in first["loc"] if "[" not in str(part)]
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = "unknown key"
    return f"{'.'.join(parts) or 'the file'}: {message[:1].lower()}{message[1:]}"
