"""Fields of metadata: their types, and what a value of each type is.

A value is text, a number, a date or a boolean, or a list of one of these. Values are never
converted from one type to another: "5" is text, true is no number.

A date is a moment in UTC: of a value without a zone UTC is taken, and of a day without a time its
first moment.
"""

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal, get_args

FieldType = Literal["text", "number", "date", "boolean"]
Value = str | float | bool | datetime
# As a card may say it. What holds one value in some documents and a list in others is a list.
DeclaredType = Literal[
    "text",
    "number",
    "date",
    "boolean",
    "list of text",
    "list of number",
    "list of date",
    "list of boolean",
]
Fields = Mapping[str, DeclaredType]
DAY = timedelta(days=1)
LIST = "list of "


def find_type(declared: str) -> FieldType:
    """Return the type of the values of a field that may hold lists of them."""
    name = declared.removeprefix(LIST)
    return next(type_ for type_ in get_args(FieldType) if type_ == name)


def list_values(metadata: Mapping[str, Any], field: str) -> list[Any]:
    """Return the values of a field; none where it is missing, null or an empty list."""
    value = metadata.get(field)
    values = value if isinstance(value, list | tuple) else [value]
    return [one for one in values if one is not None]


def read_value(value: Any, type_: FieldType) -> Value | None:
    """Return a value as one of `type_`; None if it is of another type."""
    if type_ == "date":
        return read_date(value)
    if type_ == "number":
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return value if number and math.isfinite(value) else None
    return value if isinstance(value, str if type_ == "text" else bool) else None


def read_date(value: Any) -> datetime | None:
    """Return the moment of a date, or of a text in ISO 8601; None for anything else."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        try:
            return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
        except OverflowError:  # the first or last day there is, in another zone
            return None
    return datetime.combine(value, time(), UTC) if isinstance(value, date) else None


def is_day(value: Any) -> bool:
    """Return True if a date has no time of day."""
    if isinstance(value, str):
        return len(value) <= len("2024-01-31") and read_date(value) is not None
    return isinstance(value, date) and not isinstance(value, datetime)


def find_misfit(metadata: Mapping[str, Any], fields: Fields) -> str:
    """Say what value of `metadata` is not of the type that `fields` declare; "" if none is."""
    for name, declared in fields.items():
        value = metadata.get(name)
        if isinstance(value, list | tuple) and not declared.startswith(LIST):
            return f"{name}: a list, where the card says {declared}"
        for one in list_values(metadata, name):
            if read_value(one, find_type(declared)) is None:
                return f"{name}: {one!r:.60} is no {find_type(declared)}, as the card says it is"
    return ""
