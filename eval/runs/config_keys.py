"""Dotted keys of a config: nested values as pairs of key and text, and short names for keys."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield (dotted key, text) for every leaf; a list of mappings counts its items from 0."""
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            value = {str(i): item for i, item in enumerate(value)}
        if isinstance(value, Mapping) and value:
            yield from flatten(value, f"{name}.")
        else:
            yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def shorten(keys: Iterable[str]) -> dict[str, str]:
    """Return for each dotted key the fewest of its last parts that no other key ends with."""
    parts = {key: key.split(".") for key in keys}
    names = {}
    for key, own in parts.items():
        others = [other for other in parts.values() if other != own]
        size = next(
            (
                size
                for size in range(1, len(own))
                if all(other[-size:] != own[-size:] for other in others)
            ),
            len(own),
        )
        names[key] = ".".join(own[-size:])
    return names
