"""Merging of mappings, and setting of single keys by `key.path=value`."""

from collections.abc import Mapping
from typing import Any, get_origin

from assay.retrievers.base import AssayError
from assay.retrievers.base.yaml_text import parse_yaml
from assay.retrievers.settings.errors import descend, find_member, resolve_key


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge `over` into `base`: mappings unless their `type` changes; all else is replaced."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            kind = old.get("type")
            value = merge(old, value) if value.get("type", kind) == kind else value

        merged[key] = value
    return merged


def apply_override(values: dict[str, Any], override: str, kind: Any) -> None:
    """Set one `key.path=value` in `values`, which become a `kind`; the value is read as YAML.

    The path may lead through a key that only has its default value; its `type` is then kept.
    """
    path, value = read_override(override)
    *parents, last = path.split(".")
    place: Any = values
    for key in parents:
        kind = find_member(kind, place)
        place, kind = _step(place, key, override, kind), descend(kind, key)
    if isinstance(place, list):
        place[_position(place, last, override)] = value
    elif isinstance(place, dict):
        place[last] = value
    else:
        raise AssayError(f"{override}: {'.'.join(parents)} holds a single value, not keys")


def read_override(override: str) -> tuple[str, Any]:
    """Return the dotted key and the value of `key.path=value`. Raises AssayError."""
    path, equals, text = override.partition("=")
    if not equals or not path:
        raise AssayError(f"{override}: an override is key.path=value, as in retriever.fusion.k=10")
    return path, parse_yaml(text, override)


def drop_nulls(values: Any, kind: Any) -> Any:
    """Return `values`, which become a `kind`, without entries of mappings by names that are null.

    This removes a leg of a base. A key that is a field of a model keeps its null.
    """
    member = find_member(kind, values)
    if isinstance(values, list):
        return [drop_nulls(item, descend(member, i)) for i, item in enumerate(values)]
    if not isinstance(values, dict):
        return values
    named = get_origin(member) is dict
    return {
        key: drop_nulls(value, descend(member, key))
        for key, value in values.items()
        if value is not None or not named
    }


def _step(place: Any, key: str, override: str, kind: Any) -> Any:
    if isinstance(place, list):
        return place[_position(place, key, override)]
    if isinstance(place, dict):
        if not isinstance(place.get(key), dict | list):
            place[key] = _open(place, key, kind)
        return place[key]
    raise AssayError(f"{override}: {key} stands below a single value")


def _open(place: dict[str, Any], key: str, kind: Any) -> Any:
    """Return the mapping or list in which keys below `key` are set; a single value stays one."""
    stated, shown = place.get(key), resolve_key(kind, place, key)
    if stated is None and isinstance(shown, dict):
        return {"type": shown["type"]} if "type" in shown else {}
    if isinstance(shown, dict | list):
        return shown
    return {} if stated is None else stated


def _position(place: list[Any], key: str, override: str) -> int:
    if key.isdecimal() and int(key) < len(place):
        return int(key)
    raise AssayError(f"{override}: {key} is no position in a list of {len(place)}; they begin at 0")
