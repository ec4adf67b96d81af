"""The JSON of findings, and its schema: both follow from the types of the findings.

The keys are the fields of a dataclass or pydantic model. A class that holds what is not for JSON,
such as whole runs, names its keys by `in_json`. All is written by pydantic, whose schemas are
built when first used.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, cached_property, partial
from importlib import import_module
from operator import attrgetter
from types import EllipsisType, MappingProxyType, NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, GetCoreSchemaHandler, PlainSerializer, TypeAdapter
from pydantic_core import CoreSchema, core_schema

T = TypeVar("T")
KEYS = "__json_keys__"  # the attribute of a class that holds its keys
MISSING = object()
# True while schemas are built by which findings are shown; others read and write stored values.
SHOWING = ContextVar("SHOWING", default=False)


@dataclass(frozen=True)
class KeyPath:
    """The dotted path of a value from its finding, and a function of the value that is shown.

    Methods on the path are called without arguments, a number is an index, and `items` are those of
    a mapping. The value is None from where one is None; a `maybe` key is then left out.
    `kind` returns the type of what is shown, given that of the value.
    """

    names: str
    then: Callable[[Any], Any] = lambda value: value
    kind: Callable[[Any], Any] = lambda kind: kind
    maybe: bool = False


class Keys(NamedTuple):
    """The keys of an object: fields kept, objects whose keys are among them, and values by key."""

    all_fields: bool
    but: tuple[str, ...]
    spread: tuple[str, ...]
    shown: "Mapping[str, str | KeyPath]"


def length(names: str) -> KeyPath:
    """Return the path of a collection whose length is shown."""
    return KeyPath(names, len, lambda _: int)


def or_null(names: str) -> KeyPath:
    """Return the path of a value that is shown as null if it is empty, such as ""."""
    return KeyPath(names, lambda value: value or None, lambda kind: kind | None)


def maybe(shown: str | KeyPath) -> KeyPath:
    """Return the same path, for a key that is left out if there is no value."""
    return replace(KeyPath(shown) if isinstance(shown, str) else shown, maybe=True)


def constant(value: object) -> KeyPath:
    """Return the path of a value that is the same for all objects."""
    return KeyPath("", lambda _: value, lambda _: type(value))


def keyed(names: str, key: str) -> KeyPath:
    """Return the path of objects that are shown as a mapping, by the attribute `key` of each."""
    name = attrgetter(key)
    return KeyPath(
        names,
        lambda found: {name(item): item for item in found},
        lambda kind: dict[str, get_args(kind)[0]],  # type: ignore[misc]
    )


def by(function: Callable[[Any], Any], names: str = "") -> KeyPath:
    """Return the path of a value that is shown as what a function makes of it.

    Without a path the function is given the finding itself.
    """
    return KeyPath(names, function, lambda _: find_returned(function))


def shape(names: str, *keys: "str | EllipsisType", **shown: Any) -> KeyPath:
    """Return the path of an object, or of a list or mapping of objects, shown with these keys.

    The keys are those of `in_json`; paths begin at each of the objects.
    """
    told = _make_keys(*keys, **shown)
    return KeyPath(names, kind=lambda kind: _shape(kind, told))


def in_json(*keys: "str | EllipsisType", **shown: Any) -> Callable[[type[T]], type[T]]:
    """Name the keys that the objects of a class have in JSON.

    Args:
        keys: Fields and properties under their own names; `...` stands for all fields.
        shown: The path of a value by its key. `but` are names that are left out of all fields and
            of `spread`: the paths of objects whose keys are added to those of this one. None are
            added of an object that is None.

    """

    def mark(cls: type[T]) -> type[T]:
        setattr(cls, KEYS, _make_keys(*keys, **shown))
        setattr(cls, "__get_pydantic_core_schema__", classmethod(_make_schema))  # noqa: B010
        return cls

    return mark


def _make_keys(
    *keys: "str | EllipsisType",
    but: Sequence[str] = (),
    spread: Sequence[str] = (),
    **shown: str | KeyPath,
) -> Keys:
    named = {key: key for key in keys if isinstance(key, str)}
    return Keys(... in keys, tuple(but), tuple(spread), named | shown)


def to_json(value: Any) -> Any:
    """Return the JSON values of a finding, or of a mapping or list of findings."""
    if is_dataclass(value) or isinstance(value, BaseModel) or hasattr(type(value), KEYS):
        kind: Any = type(value)
        return make_adapter(kind).dump_python(value, mode="json", warnings="none")
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return str(value) if hasattr(value, "__fspath__") else value


# The type of a value that is known when it is shown.
LATER = Annotated[Any, PlainSerializer(to_json, return_type=Any)]


@cache
def make_adapter(kind: Any) -> TypeAdapter[Any]:
    """Return what writes the values of a type, and knows their schema."""
    told = _shape(kind, getattr(get_origin(kind), KEYS)) if _is_generic(kind) else kind
    token = SHOWING.set(True)
    try:
        return TypeAdapter(told)
    finally:
        SHOWING.reset(token)


def _is_generic(kind: Any) -> bool:
    """Return True for a generic class with keys, whose own method pydantic does not call."""
    return hasattr(get_origin(kind), KEYS)


def _shape(kind: Any, keys: Keys) -> Any:
    """Return a type whose objects are written with these keys, alone or in a list or mapping."""
    args, origin = get_args(kind), get_origin(kind)
    if origin is not None and not _is_generic(kind):
        if issubclass(origin, Mapping):
            return Mapping[str, _shape(args[1], keys)]  # type: ignore[misc]
        if issubclass(origin, Sequence) and not (origin is tuple and args[1:] != (...,)):
            return Sequence[_shape(args[0], keys)]  # type: ignore[misc]
    return Annotated[kind, _Shape(keys)]


@dataclass(frozen=True, eq=False)
class _Shape:
    """A mark of a type whose objects are written with these keys."""

    keys: Keys

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return _generate(source, self.keys, handler)


def _make_schema(cls: type, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
    """Return the schema by which pydantic shows the objects of a class with named keys."""
    if not SHOWING.get():
        return handler(source)
    return _generate(source, getattr(cls, KEYS), handler, f"{cls.__module__}.{cls.__qualname__}")


class _Value(NamedTuple):
    """The value of a key: its reader, its type, and False if the key may be missing."""

    read: Callable[[Any], Any]
    kind: Any
    required: bool = True


def _generate(
    source: Any, keys: Keys, handler: GetCoreSchemaHandler, ref: str | None = None
) -> CoreSchema:
    """Return the schema of objects with these keys; it serves to write, not to read."""
    values = dict(_list_values(source, keys))
    told = {
        key: core_schema.typed_dict_field(
            handler.generate_schema(value.kind), required=value.required
        )
        for key, value in values.items()
    }

    def write(found: Any) -> dict[str, Any]:
        made = ((key, value.read(found)) for key, value in values.items())
        return {
            key: dict(item) if isinstance(item, MappingProxyType) else item  # pydantic knows none
            for key, item in made
            if item is not MISSING
        }

    written = core_schema.typed_dict_schema(told, extra_behavior="forbid", ref=ref)
    return core_schema.any_schema(
        serialization=core_schema.plain_serializer_function_ser_schema(write, return_schema=written)
    )


def _list_values(kind: Any, keys: Keys) -> Iterator[tuple[str, _Value]]:
    """Yield the keys of objects of a type, and their values."""
    for path in keys.spread:
        inner, optional = _walk(kind, path)
        own_keys = getattr(get_origin(inner) or inner, KEYS, Keys(True, (), (), {}))
        for key, value in _list_values(inner, own_keys):
            if key not in keys.but:
                read = partial(_follow, path, value.read, MISSING)
                yield key, _Value(read, value.kind, value.required and not optional)
    if keys.all_fields:
        cls = get_origin(kind) or kind
        own = (
            cls.model_fields if issubclass(cls, BaseModel) else [item.name for item in fields(cls)]
        )
        for name in own:
            if name not in keys.but and not name.startswith("_"):
                yield name, _Value(attrgetter(name), _find_type(kind, name))
    for key, shown in keys.shown.items():
        told = KeyPath(shown) if isinstance(shown, str) else shown
        inner, optional = _walk(kind, told.names)
        made = told.kind(inner)
        kind_shown = made | None if optional and not told.maybe else made
        read = partial(_follow, told.names, told.then, None)
        yield key, _Value(_or_missing(read) if told.maybe else read, kind_shown, not told.maybe)


def _or_missing(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda found: MISSING if (value := read(found)) is None else value


def _follow(path: str, then: Callable[[Any], Any], missing: Any, found: Any) -> Any:
    """Return what `then` makes of the value at a path; `missing` if one on it is None."""
    for name in path.split(".") if path else ():
        if name == "items" and isinstance(found, Mapping):
            found = list(found.items())
            continue
        found = found[int(name)] if name.isdecimal() else getattr(found, name)
        found = found() if inspect.ismethod(found) else found
        if found is None:
            return missing
    return then(found)


def _walk(kind: Any, path: str) -> tuple[Any, bool]:
    """Return the type at a path, without None, and True if the value may be None."""
    optional = False
    for name in path.split(".") if path else ():
        args = get_args(kind)
        if name.isdecimal():
            kind = args[0 if args[1:] == (...,) or len(args) == 1 else int(name)]
        elif name == "items" and issubclass(get_origin(kind) or kind, Mapping):
            kind = list[tuple[args]]  # type: ignore[valid-type]
        else:
            kind = _find_type(kind, name)
        if get_origin(kind) in (Union, UnionType) and NoneType in get_args(kind):
            optional = True
            kind = Union[tuple(item for item in get_args(kind) if item is not NoneType)]  # noqa: UP007
    return kind, optional


def _find_type(kind: Any, name: str) -> Any:
    """Return the type of an attribute of a class; what a property or a method returns."""
    origin = get_origin(kind) or kind
    given = dict(zip(getattr(origin, "__parameters__", ()), get_args(kind), strict=False))
    for owner in origin.__mro__:
        made = vars(owner).get(name)
        made = made.fget if isinstance(made, property) else made
        made = made.func if isinstance(made, cached_property) else made
        known = inspect.get_annotations(made if inspect.isfunction(made) else owner)
        key = "return" if inspect.isfunction(made) else name
        if key in known:
            return _substitute(_evaluate(known[key], owner.__module__), given)
    raise TypeError(f"{origin.__qualname__}: has no typed attribute {name}")


def _substitute(kind: Any, given: Mapping[Any, Any]) -> Any:
    """Return a type with the arguments of a generic class in the place of its parameters."""
    if isinstance(kind, TypeVar):
        return given.get(kind, LATER)
    open_ = getattr(kind, "__parameters__", ())
    return kind[tuple(given.get(item, LATER) for item in open_)] if open_ else kind


def find_returned(function: Callable[..., Any]) -> Any:
    """Return the type that a function says it returns."""
    return _evaluate(function.__annotations__["return"], function.__module__)


def _evaluate(annotation: Any, module: str) -> Any:
    """Return an annotation of a module as a type."""
    holder: Any = SimpleNamespace(__annotations__={"it": annotation})
    return get_type_hints(holder, vars(import_module(module)), include_extras=True)["it"]
