"""JSON texts from elsewhere: one parser, with one bound for depth."""

import json
from typing import Any

from pydantic_core import from_json

from assay.retrievers.base.bounds import JSON_DEPTH


def parse_json(text: str | bytes) -> Any:
    """Return the value of JSON `text`. Raises ValueError, json.JSONDecodeError if it is no JSON.

    Lists and objects may be nested up to the bound of `bounds`.
    """
    try:
        return from_json(text)
    except ValueError:  # json, a third as fast, reads NaN and half of a pair, and tells the column
        try:
            value = json.loads(text)
        except RecursionError:
            raise ValueError(f"nested more than {JSON_DEPTH} deep") from None
    check_depth(value)
    return value


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
