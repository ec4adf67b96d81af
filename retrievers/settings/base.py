"""Typed settings: the values allowed in a YAML file, and the building of components from them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, ClassVar, Protocol, get_args

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, ValidationInfo, field_validator
from pydantic_core.core_schema import CoreSchema

from assay.retrievers.base import Progress, Quiet
from assay.retrievers.store.cache import Cache

# Given an encoder behind its cache and texts, yields the position of each text once it is kept.
Spread = Callable[[Any, Sequence[str]], Iterator[int]]


class Settings(BaseModel):
    """Base of every settings class: unknown keys, silent conversions and numbers without bounds are
    refused.

    `largest` is the most that a number may be, in a list or a mapping too, where its field sets no
    bound of its own. `asks_server` says whether what is built of them asks a server in searches.
    """

    # Built when first used: of some two hundred classes a command uses a few.
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True
    )
    largest: ClassVar[float] = 1_000_000
    asks_server: ClassVar[bool] = False

    @field_validator("*")
    @classmethod
    def _check_size(cls, value: Any, info: ValidationInfo) -> Any:
        field = cls.model_fields[str(info.field_name)]
        bounds = [getattr(item, name, None) for item in field.metadata for name in ("le", "lt")]
        if not any(bound is not None for bound in bounds):
            _check_numbers(value, cls.largest)
        return value

    @classmethod
    def own_values(cls, key: str) -> tuple[Any, ...]:
        """Return the values of `key` that need no trust: see `assay.retrievers.settings.trust`."""
        return (cls.model_fields[key].default,)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema = handler(core_schema)
        if cls.largest != inf:
            for field in handler.resolve_ref_schema(schema).get("properties", {}).values():
                for place in [field, *field.get("anyOf", ())]:
                    bounded = {"maximum", "exclusiveMaximum"} & place.keys()
                    if place.get("type") in ("integer", "number") and not bounded:
                        place["maximum"] = cls.largest
        return schema


def _check_numbers(value: Any, largest: float) -> None:
    """Raise ValueError for a number, or one in a list or mapping, that is out of all bounds."""
    if isinstance(value, int | float):
        if not -largest <= value <= largest:  # so is what is no number
            raise ValueError(f"must be a number of at most {largest:,}")
    elif isinstance(value, Mapping):
        for item in value.values():
            _check_numbers(item, largest)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_numbers(item, largest)


def name_type(settings: type[BaseModel]) -> str:
    """Return the `type` of these settings in a config."""
    return str(get_args(settings.model_fields["type"].annotation)[0])


class EncoderPool(Protocol):
    """Other processes that encode passages."""

    def spread(self, settings: Settings) -> Spread | None:
        """Return what lets them encode texts by an encoder of `settings`; None if this process
        does it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources that a component may use while it works; none is part of its identity."""

    cache: Cache
    progress: Progress = field(default_factory=Quiet)
    threads: int = 2
    pool: EncoderPool | None = None
