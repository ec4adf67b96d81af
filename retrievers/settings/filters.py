"""Filters: which documents may be found, by what their metadata says.

A filter is one condition on a field, or `and`, `or`, `not` of filters, alike in YAML, JSON and
Python:

    and:
    - {field: product, in: [MK-60, MK-80]}
    - {field: updated_at, range: {ge: 2024-01-01, lt: 2025-01-01}}
    - not: {field: tags, equals: draft}

What it means:

- A field that is missing, null or an empty list has no value, and meets no condition but
  `exists: false`.
- A field with several values meets `equals`, `in` and `range` where one of its values does; that
  value meets both ends of a range. It meets `contains` where it has all values that are named.
- `not` is all documents that do not meet the filter, those without the field among them.
- Types are never converted. Texts are equal where all characters are, case included.
- A day without a time, in a filter, is all of that day in UTC: `equals` is any moment of it, `le`
  and `gt` go by its end, `ge` and `lt` by its beginning.

`Filter.matches` is the meaning itself: whatever searches with a filter is held to it.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from math import inf
from typing import Any, ClassVar, Self

from pydantic import ConfigDict, Field, model_validator

from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest
from assay.retrievers.settings.base import Settings
from assay.retrievers.settings.errors import validate
from assay.retrievers.settings.fields import (
    DAY,
    Fields,
    FieldType,
    Value,
    find_type,
    is_day,
    list_values,
    read_date,
    read_value,
)

Operand = bool | int | float | datetime | date | str
TESTS = ("equals", "in", "range", "exists", "contains")
LOGIC = ("and", "or", "not")


class Range(Settings):
    """Bounds of a number, a date or a text; at least one."""

    largest: ClassVar[float] = inf

    ge: Operand | None = Field(None, description="this or more")
    gt: Operand | None = Field(None, description="more than this")
    le: Operand | None = Field(None, description="this or less")
    lt: Operand | None = Field(None, description="less than this")

    @model_validator(mode="after")
    def _has_bound(self) -> Self:
        if not self.bounds:
            raise ValueError("needs a bound; allowed: ge, gt, le, lt")
        return self

    @property
    def bounds(self) -> dict[str, Operand]:
        """The bounds there are, by name."""
        named = {"ge": self.ge, "gt": self.gt, "le": self.le, "lt": self.lt}
        return {name: bound for name, bound in named.items() if bound is not None}


class Filter(Settings):
    """A filter of documents: one condition on a field, or several put together."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)
    largest: ClassVar[float] = inf

    all_of: list["Filter"] | None = Field(
        None, alias="and", min_length=1, description="every one of these filters"
    )
    any_of: list["Filter"] | None = Field(
        None, alias="or", min_length=1, description="one of these filters"
    )
    none_of: "Filter | None" = Field(None, alias="not", description="not this filter")
    field: str = Field("", description="the field of metadata that a condition is on")
    equals: Operand | None = Field(None, description="one value is this")
    one_of: list[Operand] | None = Field(
        None, alias="in", min_length=1, description="one value is among these"
    )
    range: Range | None = Field(None, description="one value is within these bounds")
    exists: bool | None = Field(None, description="whether there is any value")
    contains: list[Operand] | None = Field(
        None, min_length=1, description="all these are among the values"
    )

    @model_validator(mode="after")
    def _is_one_condition(self) -> Self:
        given = [name for name, value in self._list_conditions().items() if value is not None]
        if len(given) != 1:
            said = ", ".join(given) or "none"
            allowed = ", ".join((*LOGIC, *TESTS))
            raise ValueError(f"a filter has one condition, not {said}; allowed: {allowed}")
        if (given[0] in TESTS) != bool(self.field):
            raise ValueError(
                f"{given[0]}: needs the field that it tests"
                if given[0] in TESTS
                else f"field: not beside {given[0]}, whose filters name their own"
            )
        return self

    @property
    def parts(self) -> Sequence["Filter"]:
        """The filters that it puts together."""
        negated = [] if self.none_of is None else [self.none_of]
        return [*(self.all_of or ()), *(self.any_of or ()), *negated]

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        """Return True if a document of this metadata meets the filter."""
        if self.all_of is not None:
            return all(part.matches(metadata) for part in self.all_of)
        if self.any_of is not None:
            return any(part.matches(metadata) for part in self.any_of)
        if self.none_of is not None:
            return not self.none_of.matches(metadata)
        values = list_values(metadata, self.field)
        if self.exists is not None:
            return bool(values) is self.exists
        if self.range is not None:
            return any(_is_within(value, self.range) for value in values)
        if self.contains is not None:
            return all(_is_among(wanted, values) for wanted in self.contains)
        wanted = self.one_of if self.one_of is not None else [self.equals]
        return any(_is_among(one, values) for one in wanted)

    def list_fields(self) -> list[str]:
        """Return the fields that it tests, each once."""
        named = [self.field] if self.field else []
        inner = (name for part in self.parts for name in part.list_fields())
        return list(dict.fromkeys([*named, *inner]))

    def find_misfit(self, fields: Fields) -> str:
        """Say which condition does not fit fields of these types; "" if each does."""
        for part in self.parts:
            if misfit := part.find_misfit(fields):
                return misfit
        if not self.field:
            return ""
        if self.field not in fields:
            listed = ", ".join(fields) or "none"
            return f"no such field: {self.field}; allowed: {listed}{suggest(self.field, fields)}"
        type_ = find_type(fields[self.field])
        if type_ == "boolean" and self.range is not None:
            return f"{self.field}: true and false have no range; allowed: equals, in, exists"
        for operand in self._list_operands():
            if read_value(operand, type_) is None:
                return f"{self.field}: {operand!r:.60} is no {type_}, as its values are"
        return ""

    def bind(self, fields: Fields) -> "Filter":
        """Return this with texts made dates where fields are dates. Raises AssayError on a misfit.

        So that what reads it needs no types: a condition on a date has a date.
        """
        if misfit := self.find_misfit(fields):
            raise AssayError(misfit)
        return self._bind(fields)

    def as_json(self) -> dict[str, Any]:
        """Return it as it is written in JSON."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    def __and__(self, other: "Filter") -> "Filter":
        return Filter(all_of=[self, other])

    def __or__(self, other: "Filter") -> "Filter":
        return Filter(any_of=[self, other])

    def __invert__(self) -> "Filter":
        return Filter(none_of=self)

    def _list_conditions(self) -> dict[str, Any]:
        own = (self.all_of, self.any_of, self.none_of)
        tests = (self.equals, self.one_of, self.range, self.exists, self.contains)
        return dict(zip((*LOGIC, *TESTS), (*own, *tests), strict=True))

    def _list_operands(self) -> list[Operand]:
        single = [] if self.equals is None else [self.equals]
        bounds = self.range.bounds.values() if self.range else ()
        return [*single, *(self.one_of or ()), *(self.contains or ()), *bounds]

    def _bind(self, fields: Fields) -> "Filter":
        if self.all_of is not None:
            return Filter(all_of=[part._bind(fields) for part in self.all_of])
        if self.any_of is not None:
            return Filter(any_of=[part._bind(fields) for part in self.any_of])
        if self.none_of is not None:
            return Filter(none_of=self.none_of._bind(fields))
        if find_type(fields[self.field]) != "date" or self.exists is not None:
            return self
        if self.range is not None:
            bounds = {name: _make_date(bound) for name, bound in self.range.bounds.items()}
            return Filter(field=self.field, range=Range(**bounds))
        if self.contains is not None:
            return Filter(field=self.field, contains=list(map(_make_date, self.contains)))
        values = self.one_of if self.one_of is not None else [self.equals]
        return Filter(field=self.field, one_of=list(map(_make_date, values)))


def read_filter(values: Any, what: str, fields: Fields) -> Filter:
    """Return the filter of JSON or YAML values, bound to `fields`.

    Raises AssayError, which begins with `what`, naming the field, its type and what is allowed.
    """
    found = validate(Filter, values, what)
    if misfit := found.find_misfit(fields):
        raise AssayError(f"{what}: {misfit}")
    return found.bind(fields)


def name_type_of(operand: Operand) -> FieldType:
    """Return the type of the values that a condition with this operand is met by."""
    if isinstance(operand, bool):
        return "boolean"
    if isinstance(operand, date):
        return "date"
    return "text" if isinstance(operand, str) else "number"


def _make_date(operand: Any) -> date:
    """Return the day or the moment that an operand of a date field is; it has been checked."""
    moment = read_date(operand)
    assert moment is not None
    return moment.date() if is_day(operand) else moment


def _is_among(wanted: Any, values: Sequence[Any]) -> bool:
    if is_date := isinstance(wanted, date):
        span = Range(ge=wanted, le=wanted)
    return any(
        _is_within(value, span) if is_date else _read(value, wanted) == wanted for value in values
    )


def _is_within(value: Any, bounds: Range) -> bool:
    return all(_holds(value, name, bound) for name, bound in bounds.bounds.items())


def _holds(value: Any, name: str, bound: Any) -> bool:
    found: Any = _read(value, bound)
    if found is None:
        return False
    limit: Any = read_date(bound) if isinstance(bound, date) else bound
    if is_day(bound) and not isinstance(bound, str) and name in ("le", "gt"):
        return bool((found - limit < DAY) is (name == "le"))
    if name in ("ge", "gt"):
        return bool(found >= limit) if name == "ge" else bool(found > limit)
    return bool(found <= limit) if name == "le" else bool(found < limit)


def _read(value: Any, operand: Operand) -> Value | None:
    return read_value(value, name_type_of(operand))
