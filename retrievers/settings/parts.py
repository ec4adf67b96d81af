"""Fields of settings that take one of several parts: of this project, or plugged in.

A part that is plugged in is named by `{type: python, class: "package.module:Class"}`, or if a
package gives it a name (see `assay.retrievers.settings.plugins`) by that name as its `type`. The
other keys are those of the class.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, get_args

from pydantic import (
    BaseModel,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Tag,
    TypeAdapter,
    ValidationError,
)
from pydantic import create_model as make_class
from pydantic_core import InitErrorDetails, PydanticCustomError, PydanticKnownError, core_schema

from assay.retrievers.base import AssayError
from assay.retrievers.settings.base import Settings
from assay.retrievers.settings.plugins import find_parts, load_class, load_part
from assay.retrievers.store.user_code import digest_module, find_file

PYTHON = "python"
UNTYPED = "here"

T = TypeVar("T", bound=Settings)
# The digest of the source of each class that was plugged in.
_SOURCES: dict[type[BaseModel], str] = {}
_PARTS: "list[Part[Any]]" = []


class Classes(Mapping[str, type[T]]):
    """Settings classes by the `type` that names each; each is imported at its first use."""

    def __init__(self, package: str, paths: Mapping[str, str]) -> None:
        self._package = package
        self._paths = paths
        self._loaded: dict[str, type[T]] = {}

    def __getitem__(self, type_: str) -> type[T]:
        if type_ not in self._loaded:
            module, _, name = self._paths[type_].partition(":")
            self._loaded[type_] = getattr(import_module(f"{self._package}.{module}"), name)
        return self._loaded[type_]

    def __contains__(self, type_: object) -> bool:
        return type_ in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def hold(self, kind: type[Settings]) -> bool:
        """Return True if `kind` is one of them, importing none."""
        path = f"{kind.__module__.removeprefix(f'{self._package}.')}:{kind.__qualname__}"
        return path in self._paths.values()


class Part(Generic[T]):
    """Marks a field of type `base`: it holds one of this project's classes, or a part plugged in.

    `paths` are those classes by `type`, each as `module:Class` below `package`; one is imported
    when a config names it. `untyped`, if given, is the class of a value without a `type`, which may
    be a name. `group` is that of the entry points under which packages offer more.
    """

    def __init__(
        self,
        group: str,
        base: type[T],
        package: str,
        paths: Mapping[str, str],
        untyped: str = "",
    ) -> None:
        self.group = group
        self.base = base
        self.types: Classes[T] = Classes(package, paths)
        self._untyped: Classes[T] = Classes(package, {UNTYPED: untyped} if untyped else {})
        _PARTS.append(self)

    def load(self) -> list[type[T]]:
        """Import and return every class of this project, that without a `type` first."""
        return [*self._untyped.values(), *self.types.values()]

    def find(self, value: Any) -> type[T]:
        """Return the class that `value`, as in a config, names.

        Raises ValueError in Pydantic's forms if there is no such part.
        """
        type_ = value.get("type") if isinstance(value, Mapping) else None
        if type_ is None and UNTYPED in self._untyped:
            return self._untyped[UNTYPED]
        if type_ is None:
            raise PydanticKnownError("union_tag_not_found", {"discriminator": "'type'"})
        if isinstance(type_, str) and type_ in self.types:
            return self.types[type_]
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

    def list_installed(self) -> Iterator[tuple[str, type[T]]]:
        """Yield the parts that installed packages offer, by name. Raises AssayError."""
        for name in find_parts(self.group):
            yield name, load_part(self.group, name, self.base)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self._validate,
            # What the class itself says, whatever its base knows of.
            serialization=core_schema.simple_ser_schema("any"),
            metadata={"pydantic_js_functions": [self._write_json_schema]},
        )

    def _write_json_schema(
        self, _: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        own = handler(self._make_union())
        path = {"type": "string", "description": "package.module:Class", "pattern": r"^[\w.]+:"}
        python = _describe(PYTHON, f"A class of yours, a subclass of {name_class(self.base)}.")
        python["properties"]["class"] = path
        python["required"].append("class")
        installed = [_describe(name, found.__doc__, found) for name, found in self.list_installed()]
        return {"anyOf": [own, python, *installed]}

    def _make_union(self) -> core_schema.CoreSchema:
        """Return the schema of this project's classes; this imports all of them."""
        kinds = tuple(dict.fromkeys(self.types.values()))
        union: Any = Annotated[Union[kinds], Field(discriminator="type")]  # noqa: UP007
        for untyped in self._untyped.values():
            union = Annotated[
                Annotated[untyped, Tag(UNTYPED)] | Annotated[union, Tag("typed")],
                Discriminator(lambda _: UNTYPED),
            ]
        return TypeAdapter(union).core_schema

    def _validate(self, value: Any) -> Any:
        if isinstance(value, self.base):
            return value if type(value) in _SOURCES else self._take(value)
        return self.find(value).model_validate(value)

    def _take(self, value: Settings) -> Any:
        """Return settings made in Python so that a config written of them can be read again."""
        kind = type(value)
        if self.types.hold(kind) or self._untyped.hold(kind):
            return value
        path = f"{kind.__module__}:{kind.__qualname__}"
        keys = {"type": PYTHON, "class": path}
        return plug(kind, PYTHON, path).model_validate({**dict(value), **keys})


def load_all() -> None:
    """Import every class that a config can name where a `Part` stands."""
    for part in _PARTS:
        part.load()


@cache
def plug(found: type[T], type_: str, path: str = "") -> type[T]:
    """Return the class `found` with the keys that name it in a config."""
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


def find_part(metadata: Any) -> Part[Any] | None:
    """Return the mark in the metadata of a field, or of an annotated type, if it has one."""
    return next((item for item in metadata if isinstance(item, Part)), None)


def list_classes(kind: Any) -> Iterator[type[BaseModel]]:
    """Yield the settings classes of this project that a type names, however deep."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
        return
    part = find_part(getattr(kind, "__metadata__", ()))
    for inner in part.types.values() if part else get_args(kind):
        yield from list_classes(inner)


def name_class(kind: type) -> str:
    """Return the name of a class with its module."""
    return f"{kind.__module__}.{kind.__qualname__}"


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
