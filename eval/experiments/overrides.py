"""Mappings laid over mappings, and single keys set by `key.path=value`."""

from collections.abc import Mapping
from typing import Any

from retrievers.base import AssayError
from retrievers.settings.files import parse_yaml


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay `over` on `base`: mappings merge, unless their `type` changes; all else is replaced."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            kind = old.get("type")
            value = merge(old, value) if value.get("type", kind) == kind else value

        merged[key] = value
    return merged


def apply_override(values: dict[str, Any], override: str) -> None:
    """Set one `key.path=value` in `values`; the value is read as YAML."""
    path, equals, text = override.partition("=")
    if not equals or not path:
        raise AssayError(f"{override}: an override is key.path=value, as in retriever.fusion.k=10")
    value = parse_yaml(text, override)
    *parents, last = path.split(".")
    place: Any = values
    for key in parents:
        place = _step(place, key, override)
    if isinstance(place, list):
        place[_position(place, last, override)] = value
    elif isinstance(place, dict):
        place[last] = value
    else:
        raise AssayError(f"{override}: {'.'.join(parents)} holds a single value, not keys")


def _step(place: Any, key: str, override: str) -> Any:
    if isinstance(place, list):
        return place[_position(place, key, override)]
    if isinstance(place, dict):
        if place.get(key) is None:
            place[key] = {}
        return place[key]
    raise AssayError(f"{override}: {key} stands below a single value")


def _position(place: list[Any], key: str, override: str) -> int:
    if key.isdecimal() and int(key) < len(place):
        return int(key)
    raise AssayError(f"{override}: {key} is no position in a list of {len(place)}; they begin at 0")
