"""Error messages for settings: a line for each key, with the given and the allowed values."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from assay.retrievers.base import AssayError, cut
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.settings.parts import Part, find_part


def resolve_key(kind: Any, values: Mapping[str, Any], key: str) -> Any:
    """Return the value at `key` of a `kind` of `values`, as plain values.

    It is the default if none is given; short forms are expanded. None if the type does not
    determine it.
    """
    field = getattr(find_member(kind, values), "model_fields", {}).get(key)
    if field is None:
        return None
    expected: TypeAdapter[Any] = TypeAdapter(descend(find_member(kind, values), key))
    if (stated := values.get(key)) is None:
        return expected.dump_python(field.get_default(call_default_factory=True), mode="json")
    try:
        return expected.dump_python(expected.validate_python(stated), mode="json")
    except ValidationError:
        return None


def find_member(kind: Any, value: Any) -> Any:
    """Return the member of a union that `value` fits: by its `type`, or a list for a list."""
    if get_origin(kind) is Annotated:
        inner, *metadata = get_args(kind)
        part = find_part(metadata)
        return _find_class(part, value) if part else find_member(inner, value)
    if get_origin(kind) not in (Union, UnionType):
        return kind
    members = [find_member(member, value) for member in get_args(kind)]
    if not isinstance(value, Mapping):
        return next((item for item in members if get_origin(item) is list), members[0])
    models = list_models(kind)
    named = [model for model in models if value.get("type") in list_tags(model)]
    mappings = [item for item in members if get_origin(item) is dict]
    return next(iter(named or models or mappings or members))


def _find_class(part: Part[Any], value: Any) -> type[BaseModel]:
    try:
        return part.find(value)
    except ValueError:  # it is this that is explained
        return part.base


def list_models(kind: Any) -> list[type[BaseModel]]:
    """Return the models that a type names, unions opened; of a part, which has its own, none."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    if get_origin(kind) is Annotated:
        inner, *metadata = get_args(kind)
        return [] if find_part(metadata) else list_models(inner)
    if get_origin(kind) in (Union, UnionType):
        return [model for member in get_args(kind) for model in list_models(member)]
    return []


def list_tags(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the allowed values of the key `type` of a model."""
    field = model.model_fields.get("type")
    return get_args(field.annotation) if field else ()


def list_fields(kind: Any) -> Mapping[str, Any]:
    """Return the types of a model's keys by name; nothing of what is no model.

    With their metadata, which may say what else can be plugged in there.
    """
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return {
            field.alias or name: Annotated[(field.annotation, *field.metadata)]
            if field.metadata
            else field.annotation
            for name, field in kind.model_fields.items()
        }
    return {}


def descend(kind: Any, part: Any) -> Any:
    """Return the type expected at the key, or the position, `part` of a type."""
    if get_origin(kind) in (dict, list):
        return get_args(kind)[-1]
    return list_fields(kind).get(str(part))


M = TypeVar("M", bound=BaseModel)


def validate(kind: type[M], values: Any, source: str) -> M:
    """Return `values` as a `kind`.

    Raises AssayError: `source`, and of each wrong key what is wrong and what is allowed.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise AssayError(f"{source}: {'; '.join(explain_errors(error, kind, values))}") from None


def explain_error(error: ValidationError) -> str:
    """Return the first error line for values that are not a mapping yet, such as JSON text."""
    return explain_errors(error)[0]


def explain_errors(error: ValidationError, kind: Any = None, values: Any = None) -> list[str]:
    """Return a line for each wrong key of `values`, which are no `kind`."""
    found = [(*_locate(kind, values, item), item) for item in error.errors()]
    paths = {keys for keys, *_ in found}
    messages: dict[tuple[str, ...], list[str]] = {}
    given: dict[tuple[str, ...], str] = {}
    for keys, holder, place, item in found:
        # Of the members of a union the one that the value comes nearest to says what is wrong.
        if any(keys == path[: len(keys)] != path for path in paths):
            continue
        path, message, value = _explain(keys, holder, place, item)
        said = messages.setdefault(path, [])
        if message not in said:
            said.append(message)
        given[path] = value
    return [
        ": ".join(filter(None, (".".join(map(cut, path)), " or ".join(said) + given[path])))
        for path, said in messages.items()
    ]


def _explain(
    keys: tuple[str, ...], holder: Any, place: Any, item: ErrorDetails
) -> tuple[tuple[str, ...], str, str]:
    """Return the key that is meant, what is wrong with it, and the value where that helps."""
    kind, context = item["type"], item.get("ctx", {})
    if kind == "extra_forbidden":
        allowed = list(list_fields(holder))
        listed = f"; allowed: {', '.join(allowed)}" if allowed else ""
        return keys, f"unknown key{listed}{suggest(keys[-1], allowed)}", ""
    if kind == "missing":
        return keys, "missing", ""
    if kind == "union_tag_invalid":
        tag, expected = str(context["tag"]), str(context["expected_tags"])
        near = suggest(tag, (name.strip("'") for name in expected.split(", ")))
        return (*keys, "type"), f"{cut(repr(tag))} is not one of: {expected}{near}", ""
    message, value = item["msg"].removeprefix("Value error, "), repr(item["input"])
    if kind in ("union_tag_not_found", "model_attributes_type"):
        part = find_part(getattr(place, "__metadata__", ()))
        named = part.types if part else chain(*map(list_tags, list_models(place)))
        tags = ", ".join(named)
        message = f"must be a mapping with the key `type`, one of: {tags}"
    elif kind in ("model_type", "dict_type"):
        message = "must be a mapping of keys to values"
    elif kind != "value_error":
        message = f"{message[:1].lower()}{message[1:]}"
    told = kind == "value_error" and value in message
    if told or not keys or isinstance(item["input"], Mapping | BaseModel):
        return keys, message, ""
    choices = re.findall(r"'([^']*)'", context["expected"]) if kind == "literal_error" else []
    return keys, message, f", not {cut(value)}{suggest(str(item['input']), choices)}"


def _locate(kind: Any, values: Any, item: ErrorDetails) -> tuple[tuple[str, ...], Any, Any]:
    """Return an error's keys, without the names of a union's members, what holds the last of them,
    and what is expected there.
    """
    keys: list[str] = []
    holder, parts = kind, item["loc"]
    missing = len(parts) if item["type"] == "missing" else 0
    for number, part in enumerate(parts, start=1):
        if values is None:  # not known, so that every part counts
            keys.append(str(part))
            continue
        union, kind = kind, find_member(kind, values)
        if isinstance(values, Mapping):
            # A member of a union may have a key that is called as it is.
            if len(list_models(union)) > 1 and kind is not union and part == values.get("type"):
                continue
            # The last key may be missing; else what is no key here names a member of a union.
            if part not in values and number != missing:
                continue
            values = values.get(part, {})
        elif isinstance(values, list) and isinstance(part, int):
            values = values[part]
        else:
            continue
        keys.append(str(part))
        holder, kind = kind, descend(kind, part)
    return tuple(keys), holder, kind


@contextmanager
def naming_place(place: str) -> Iterator[None]:
    """Put `place` before the first line of an AssayError."""
    try:
        yield
    except AssayError as error:
        first = str(error).partition("\n")[0]
        raise AssayError(f"{place}: {first}") from None
