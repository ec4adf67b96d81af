"""Typed settings: what a YAML file may say, and how each component comes to be built from it."""

from dataclasses import dataclass, field
from typing import get_args

from pydantic import BaseModel, ConfigDict

from retrievers.base import Progress, Quiet
from retrievers.store.cache import Cache


class Settings(BaseModel):
    """Base of every settings class: unknown keys and silent conversions are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def name_type(settings: type[BaseModel]) -> str:
    """Return the `type` by which a config names these settings."""
    return str(get_args(settings.model_fields["type"].annotation)[0])


@dataclass(frozen=True, slots=True)
class Workshop:
    """What a component may use while it works, none of which is part of what it is."""

    cache: Cache
    progress: Progress = field(default_factory=Quiet)
    threads: int = 2
