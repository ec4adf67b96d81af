"""What a type of settings expects at a key: its type, the member of a union, the default."""

from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from assay.retrievers.settings.parts import Part, find_part


def resolve_key(kind: Any, values: Mapping[str, Any], key: str) -> Any:
    """Return what a `kind` of `values` holds at `key`, as plain values: a default, or what a value
    that is short for several keys stands for. None where the type does not tell.
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
        own = part.own if part else inner
        return (part and _find_plugged(part, value)) or find_member(own, value)
    if get_origin(kind) not in (Union, UnionType):
        return kind
    members = [find_member(member, value) for member in get_args(kind)]
    if not isinstance(value, Mapping):
        return next((item for item in members if get_origin(item) is list), members[0])
    models = list_models(kind)
    named = [model for model in models if value.get("type") in list_tags(model)]
    mappings = [item for item in members if get_origin(item) is dict]
    return next(iter(named or models or mappings or members))


def _find_plugged(part: Part, value: Any) -> type[BaseModel] | None:
    try:
        return part.find(value)
    except ValueError:  # it is this that is explained
        return None


def list_models(kind: Any) -> list[type[BaseModel]]:
    """Return the models that a type names, unions opened."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    if get_origin(kind) is Annotated:
        inner, *metadata = get_args(kind)
        part = find_part(metadata)
        return list_models(part.own if part else inner)
    if get_origin(kind) in (Union, UnionType):
        return [model for member in get_args(kind) for model in list_models(member)]
    return []


def list_tags(model: type[BaseModel]) -> tuple[str, ...]:
    """Return what the key `type` of a model may be."""
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
    """Return what is expected at the key, or the position, `part` of a type."""
    if get_origin(kind) in (dict, list):
        return get_args(kind)[-1]
    return list_fields(kind).get(str(part))
