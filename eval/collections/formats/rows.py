"""Rows of JSON Lines and of tables, with the place they come from and typed access."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.retrievers.base.json_text import parse_json

KINDS = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number with a fraction",
    list: "a list",
    dict: "an object",
}
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
LARGEST = 2**53  # all whole numbers up to it are exact in every format
NUMBERED = re.compile(r"((?:.*\D)?)(\d+)", re.S)
CONFLICT = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")  # what git puts between two versions
# What a grade may be called, in any case, best first.
GRADES = ("grade", "relevance", "rel", "rating", "label", "gain", "judgment", "judgement", "score")
GRADE = re.compile(r"([0-9]{1,16})([.,]0+)?")
PLACES = ("start", "end")  # the other numbers of a judgment
FRACTION = re.compile(r"(?<=\d)\.0+$")
WIDEST = 12  # digits of a number that leading zeros are looked for


class RowError(Exception):
    """A row cannot be used. The message says why, and what is allowed."""


@dataclass(frozen=True, slots=True)
class Row:
    """The values at `line` of `file`, counted from 1; 0 when the file as a whole is the row."""

    file: Path
    line: int
    values: Mapping[str, Any]

    def has(self, key: str) -> bool:
        """Return True if `key` has a value; null is none."""
        return self.values.get(key) is not None

    def string(self, key: str, default: str | None = None) -> str:
        """Return the string at `key`. Raises RowError when it is missing or of another type."""
        value = self.values.get(key)
        # As nearly all are, of up to millions.
        return value if type(value) is str else str(self._value(key, str, default))

    def integer(self, key: str, default: int | None = None) -> int:
        """Return the whole number at `key`, be it written 2.0. Raises RowError as `string` does."""
        value = self.values.get(key)
        if type(value) is int and -LARGEST <= value <= LARGEST:
            return value
        return int(self._value(key, int, default))

    def mapping(self, key: str) -> dict[str, Any]:
        """Return the object at `key`, empty when there is none."""
        value: dict[str, Any] = self._value(key, dict, {})
        return value

    def _value(self, key: str, kind: type, default: Any) -> Any:
        value = self.values.get(key)
        if value is None:
            value = default
        if value is None:
            present = ", ".join(self.values) or "none"
            raise RowError(
                f'key "{key}" is missing; it must be {KINDS[kind]}; keys here: {present}'
            )
        if kind is int and type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not kind:
            raise RowError(f'"{key}" must be {KINDS[kind]}, not {KINDS[type(value)]}')
        if isinstance(value, int) and abs(value) > LARGEST:
            raise RowError(f'"{key}" must be a whole number of at most {LARGEST:,}')
        return value


def parse_grade(written: str) -> int | None:
    """Return the whole number from 0 that a cell shows, or None if it shows none.

    2.0 counts as 2: pandas writes it so in columns with blanks.
    """
    match = GRADE.fullmatch(written.strip())
    return int(match[1]) if match else None


def find_grade(names: Iterable[str]) -> str | None:
    """Return the name among `names` that is a known name of the grade, None if there is none."""
    folded: dict[str, str] = {}
    for name in names:
        folded.setdefault(name.strip().casefold(), name)
    return next((folded[known] for known in GRADES if known in folded), None)


def read_grade(row: Row) -> int:
    """Return the grade of a judgment by any name it may have, 1 for a row without one.

    Raises RowError if it is no whole number, or if a number has another name.
    """
    name = find_grade(row.values)
    if name is not None:
        return row.integer(name, 1)
    for key, value in row.values.items():
        if type(value) in (int, float) and key not in PLACES:
            raise RowError(describe_ungraded(key))
    return 1


def describe_ungraded(name: str) -> str:
    """Return in words that numbers under `name` may be meant as grades, and what to do."""
    return (
        f'"{name}" holds numbers, and no grade is given; if they are the grades, call it "grade" '
        f"(also read: {', '.join(GRADES[1:])}); else give a grade, or leave it out"
    )


def find_alike(identifier: str, known: Mapping[str, Any]) -> str | None:
    """Return the id of `known` that is `identifier` but for leading zeros or a `.0`, if any."""
    whole = FRACTION.sub("", identifier)  # a column with blanks is of floats in pandas: 7.0
    if (other := whole if whole != identifier else f"{identifier}.0") in known:
        return other
    match = NUMBERED.fullmatch(whole)
    if match is None:
        return None
    name, number = match[1], match[2].lstrip("0") or "0"
    padded = (name + number.zfill(width) for width in range(len(number), WIDEST + 1))
    return next((other for other in padded if other in known), None)


def describe_unknown(what: str, identifier: str, known: Mapping[str, Any]) -> str:
    """Return a message that no id of `known` is `identifier`, with an example of a known one."""
    missing = f'there is no {what} "{identifier}"'
    if not known:
        return f"{missing}; none was read"
    if other := find_alike(identifier, known):
        why = "the files differ by leading zeros; write such ids alike in both"
        if FRACTION.sub("", identifier) == FRACTION.sub("", other):
            why = "one file has it as a number; keep ids as text in both"
        return f'{missing} but "{other}": {why}'
    return f'{missing}; the first one there is "{next(iter(known))}"'


def parse_json_row(file: Path, line: int, text: str) -> Row:
    """Return the row that one line of JSON Lines holds. Raises RowError."""
    try:
        values = parse_json(text)
    except json.JSONDecodeError as error:
        if text.startswith(CONFLICT):
            raise RowError(
                "a merge conflict's mark; keep the lines that hold, delete the marks, and run "
                "`assay dataset sync`"
            ) from None
        raise RowError(
            f"not JSON: {error.msg} at column {error.colno}; each line must be one JSON object"
        ) from None
    except ValueError as error:  # nested too deep, a number of too many digits
        raise RowError(f"not JSON that can be read: {error}") from None
    if not isinstance(values, dict):
        raise RowError("not a JSON object; each line must be one, in curly brackets")
    if SURROGATE.search(text):  # of a pair it is one character, and alone it is none
        check_characters(values)
    return Row(file, line, values)


def check_characters(values: Any) -> None:
    """Raise RowError if a text among JSON values has a code point that is no character."""
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise RowError("holds half a surrogate pair, which is no character") from None


def render_rows(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as JSON Lines."""
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
