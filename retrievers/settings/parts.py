"""Fields of settings where one of several parts stands: one of this project, or one plugged in.

A part plugged in is named by `{type: python, class: "package.module:Class"}`, or where a package
gives it a name (see `assay.retrievers.settings.plugins`) by that as its `type`. The keys beside are
those of the class.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic import create_model as make_class
from pydantic_core import InitErrorDetails, PydanticCustomError, PydanticKnownError, core_schema

from assay.retrievers.base import AssayError
from assay.retrievers.settings.base import Settings
from assay.retrievers.settings.plugins import find_parts, load_class, load_part
from assay.retrievers.store.user_code import digest_module, find_file

PYTHON = "python"

T = TypeVar("T", bound=Settings)
# The digest of the source of each class that was plugged in.
_SOURCES: dict[type[BaseModel], str] = {}


class Part:
    """Marks a field of type `base`: it holds one of `own`, or a part plugged in.

    `own` is a type that Pydantic validates: a settings class, or a union told apart by `type`.
    `group` is that of the entry points under which packages offer more.
    """

    def __init__(self, group: str, base: type[Settings], own: Any) -> None:
        self.group = group
        self.base = base
        self.own = own
        self.types = {type_: found for found in list_classes(own) for type_ in _types(found)}

    def find(self, value: Any) -> type[Settings] | None:
        """Return the class plugged in that `value`, as in a config, names; None for one of `own`.

        Raises ValueError in Pydantic's forms where there is no such part.
        """
        type_ = value.get("type") if isinstance(value, Mapping) else None
        if not isinstance(type_, str) or type_ in self.types:
            return None
        if type_ == PYTHON and "class" not in value:
            raise _at_class("missing", value)
        installed = find_parts(self.group)
        if type_ != PYTHON and type_ not in installed:
            allowed = ", ".join(map(repr, [*self.types, PYTHON, *installed]))
            context = {"discriminator": "'type'", "tag": str(type_), "expected_tags": allowed}
            raise PydanticKnownError("union_tag_invalid", context)
        try:
            if type_ == PYTHON:
                path = str(value["class"])
                return plug(load_class(path, self.base, "class"), PYTHON, path)
            return plug(load_part(self.group, type_, self.base), type_)
        except AssayError as error:
            message = str(error).removeprefix("class: ")
            if type_ != PYTHON:
                raise ValueError(message) from error
            literal = message.replace("{", "{{").replace("}", "}}")
            raise _at_class(PydanticCustomError("plugin", literal), value) from error

    def list_installed(self) -> Iterator[tuple[str, type[Settings]]]:
        """Yield the parts that installed packages offer, by name. Raises AssayError."""
        for name in find_parts(self.group):
            yield name, load_part(self.group, name, self.base)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_wrap_validator_function(
            self._validate,
            handler.generate_schema(self.own),
            # What the class itself says, whatever its base knows of.
            serialization=core_schema.simple_ser_schema("any"),
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        own = handler(schema)
        path = {"type": "string", "description": "package.module:Class", "pattern": r"^[\w.]+:"}
        python = _describe(PYTHON, f"A class of yours, a subclass of {name_class(self.base)}.")
        python["properties"]["class"] = path
        python["required"].append("class")
        installed = [_describe(name, found.__doc__, found) for name, found in self.list_installed()]
        return {"anyOf": [own, python, *installed]}

    def _validate(self, value: Any, handler: core_schema.ValidatorFunctionWrapHandler) -> Any:
        if isinstance(value, self.base):
            return value if type(value) in _SOURCES else self._take(value, handler)
        found = self.find(value)
        return found.model_validate(value) if found else handler(value)

    def _take(self, value: Settings, handler: core_schema.ValidatorFunctionWrapHandler) -> Any:
        """Return settings made in Python so that a config written of them can be read again."""
        kind = type(value)
        if kind in self.types.values():
            return handler(value)
        path = f"{kind.__module__}:{kind.__qualname__}"
        keys = {"type": PYTHON, "class": path}
        return plug(kind, PYTHON, path).model_validate({**dict(value), **keys})


@cache
def plug(found: type[T], type_: str, path: str = "") -> type[T]:
    """Return the class `found` with the keys by which a config names it."""
    keys: dict[str, Any] = {"type": (Literal[type_], type_)}
    if path:
        keys["class"] = (Literal[path], path)
    made = make_class(
        found.__name__, __base__=found, __module__=found.__module__, __doc__=found.__doc__, **keys
    )
    known = find_file(found.__module__)
    _SOURCES[made] = digest_module(found.__module__) if known else name_class(found)
    return made


def find_source(settings: Settings) -> str:
    """Return a digest of the files that the class of `settings` needs; empty if not plugged in."""
    return _SOURCES.get(type(settings), "")


def find_sources(settings: Any, key: str = "") -> dict[str, str]:
    """Return the digest of each part plugged in anywhere below `settings`, by its dotted key."""
    return {i: _SOURCES[type(part)] for i, part in find_plugged(settings, key)}


def find_plugged(settings: Any, key: str = "") -> Iterator[tuple[str, BaseModel]]:
    """Yield each part plugged in anywhere below `settings`, with its dotted key."""
    inner: Any = ()
    if isinstance(settings, BaseModel):
        inner = settings
        if type(settings) in _SOURCES:
            yield key, settings
    elif isinstance(settings, Mapping):
        inner = settings.items()
    elif isinstance(settings, Sequence) and not isinstance(settings, str):
        inner = enumerate(settings)
    for name, value in inner:
        yield from find_plugged(value, f"{key}.{name}" if key else str(name))


def find_part(metadata: Any) -> Part | None:
    """Return the mark in the metadata of a field, or of an annotated type, if it has one."""
    return next((item for item in metadata if isinstance(item, Part)), None)


def list_classes(kind: Any) -> Iterator[type[BaseModel]]:
    """Yield the settings classes of this project that a type names, however deep."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
        return
    part = find_part(getattr(kind, "__metadata__", ()))
    for inner in [part.own] if part else get_args(kind):
        yield from list_classes(inner)


def name_class(kind: type) -> str:
    """Return the name of a class with its module."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _types(found: type[BaseModel]) -> Sequence[str]:
    field = found.model_fields.get("type")
    return get_args(field.annotation) if field else ()


def _describe(type_: str, doc: str | None, found: type[Settings] | None = None) -> dict[str, Any]:
    fields = found.model_fields if found else {}
    keys = {key: {"description": field.description or ""} for key, field in fields.items()}
    return {
        "type": "object",
        "description": " ".join((doc or "").partition("\n\n")[0].split()),
        "properties": {**keys, "type": {"const": type_}},
        "required": ["type"],
    }


def _at_class(kind: Any, value: Any) -> ValidationError:
    """Return an error at the key `class` of `value`."""
    detail = InitErrorDetails(type=kind, loc=("class",), input=value)
    return ValidationError.from_exception_data("part", [detail])
