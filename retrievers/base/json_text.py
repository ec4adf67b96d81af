"""JSON texts from elsewhere: one parser, with one bound for depth. No key stands twice."""

import json
import re
from collections.abc import Sequence
from typing import Any

from pydantic_core import from_json

from assay.retrievers.base import cut
from assay.retrievers.base.bounds import JSON_DEPTH

AFTER_KEY = re.compile(r'"\s*:')


def parse_json(text: str | bytes) -> Any:
    """Return the value of JSON `text`. Raises ValueError, json.JSONDecodeError if it is no JSON.

    Lists and objects may be nested up to the bound of `bounds`.
    """
    try:
        value = from_json(text)
    except ValueError:  # json, a third as fast, reads NaN and half of a pair, and tells the column
        value = _parse_slowly(text)
        check_depth(value)
        return value
    if _may_repeat(text, value):
        _parse_slowly(text)
    return value


def read_object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON. Raises ValueError if a key of it is repeated."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in found if keys.count(key) > 1)
        raise ValueError(f'the key "{cut(twice)}" stands twice in one object')
    return found


def _parse_slowly(text: str | bytes) -> Any:
    try:
        return json.loads(text, object_pairs_hook=read_object)
    except RecursionError:
        raise ValueError(f"nested more than {JSON_DEPTH} deep") from None


def _may_repeat(text: str | bytes, value: Any) -> bool:
    """Return True if `text` may have more keys than all objects of its `value` together.

    A colon behind a quotation mark within a string counts as that of a key.
    """
    keys, left = 0, [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            keys += len(item)
            left += item.values()
        elif isinstance(item, list):
            left += item
    written = text if isinstance(text, str) else text.decode(errors="replace")
    return len(AFTER_KEY.findall(written)) > keys


def check_depth(value: Any) -> None:
    """Raise ValueError if lists and objects are nested beyond the bound."""
    level = [value]
    for _ in range(JSON_DEPTH + 1):
        level = [
            part
            for item in level
            if isinstance(item, dict | list)
            for part in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
    raise ValueError(f"nested more than {JSON_DEPTH} deep")
