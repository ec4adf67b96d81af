"""Nested values as pairs of a dotted key and a text."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield (dotted key, text) for every leaf; a list of mappings counts its items from 0."""
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            value = {str(at): item for at, item in enumerate(value)}
        if isinstance(value, Mapping) and value:
            yield from flatten(value, f"{name}.")
        else:
            yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
