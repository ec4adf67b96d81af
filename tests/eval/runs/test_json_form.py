"""The JSON of findings, and its schema, from their types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar

import pytest
from pydantic import BaseModel, TypeAdapter

from assay.eval.runs.json_form import (
    by,
    constant,
    in_json,
    keyed,
    length,
    make_adapter,
    maybe,
    or_null,
    shape,
    to_json,
)

if TYPE_CHECKING:
    from fractions import Fraction

T = TypeVar("T")


class Load(BaseModel):
    cores: int


@dataclass(frozen=True)
class Mean:
    value: float
    low: float | None


@in_json("name", mean="mean.value")
@dataclass(frozen=True)
class Row:
    name: str
    mean: Mean | None
    secret: object = None


def double(values: Sequence[int]) -> list[int]:
    """Return each value twice."""
    return [2 * value for value in values]


@in_json(
    ...,
    "total",
    but=("hidden", "lazy"),
    spread=("load",),
    size=length("values"),
    doubled=by(double, "values"),
    note=or_null("note"),
    version=constant(3),
    by_name=keyed("rows", "name"),
    means=shape("means", "low", mean="value"),
    pairs=shape("pairs", name="0", low="1.low"),
    listed=shape("means.items", name="0", low="1.low"),
    first="values.0",
    extra=maybe("extra.value"),
    missing=maybe("gone.value"),
)
@dataclass(frozen=True)
class Finding:
    values: tuple[int, ...] = (1, 2)
    rows: tuple[Row, ...] = (Row("a", Mean(0.5, None)), Row("b", None))
    note: str = ""
    load: Load | None = field(default_factory=lambda: Load(cores=2))
    means: Mapping[str, Mean] = field(
        default_factory=lambda: MappingProxyType({"m": Mean(1.0, 0.0)})
    )
    pairs: tuple[tuple[str, Mean], ...] = (("p", Mean(0.0, 0.25)),)
    extra: Mean | None = Mean(7.0, None)
    gone: Mean | None = None
    hidden: object = None
    lazy: "Fraction | None" = None

    def total(self) -> int:
        return sum(self.values)


def test_the_keys_are_fields_and_paths():
    assert to_json(Finding()) == {
        "values": [1, 2],
        "rows": [{"name": "a", "mean": 0.5}, {"name": "b", "mean": None}],
        "note": None,
        "load": {"cores": 2},
        "means": {"m": {"low": 0.0, "mean": 1.0}},
        "pairs": [{"name": "p", "low": 0.25}],
        "extra": 7.0,
        "gone": None,
        "total": 3,
        "cores": 2,
        "size": 2,
        "doubled": [2, 4],
        "version": 3,
        "by_name": {"a": {"name": "a", "mean": 0.5}, "b": {"name": "b", "mean": None}},
        "listed": [{"name": "m", "low": 0.0}],
        "first": 1,
    }
    assert "cores" not in to_json(Finding(load=None))
    assert to_json({"found": [Row("c", None)]}) == {"found": [{"name": "c", "mean": None}]}


def test_the_schema_has_the_types_of_the_paths():
    schema = make_adapter(Finding).json_schema(mode="serialization")
    told = schema["properties"]
    number = {"anyOf": [{"type": "number"}, {"type": "null"}]}
    row = schema["$defs"]["Row"]["properties"]
    assert {key: row["mean"][key] for key in number} == number
    assert told["size"]["type"] == told["first"]["type"] == told["version"]["type"] == "integer"
    assert told["doubled"]["items"] == {"type": "integer"}
    assert told["means"]["additionalProperties"]["properties"]["mean"]["type"] == "number"
    assert {"cores", "extra", "missing"}.isdisjoint(schema["required"])
    assert {"values", "note", "total"} <= set(schema["required"])
    assert schema["additionalProperties"] is False


def test_what_is_stored_keeps_its_fields():
    stored = TypeAdapter(Row)
    row = Row("a", Mean(0.5, None), 1)
    assert stored.dump_python(row) == {
        "name": "a", "mean": {"value": 0.5, "low": None}, "secret": 1
    }  # fmt: skip
    assert stored.validate_json(stored.dump_json(row)) == row


@in_json(found="results")
@dataclass(frozen=True)
class Many(Generic[T]):
    results: Sequence[T]


def test_a_generic_class_has_the_schema_of_its_argument():
    assert to_json(Many([Row("a", None)])) == {"found": [{"name": "a", "mean": None}]}
    schema = make_adapter(Many[Row]).json_schema(mode="serialization")
    assert schema["properties"]["found"]["items"] == {"$ref": "#/$defs/Row"}
    assert set(schema["$defs"]["Row"]["properties"]) == {"name", "mean"}


def test_a_path_that_leads_nowhere_is_an_error():
    @in_json(wrong="name.length")
    @dataclass
    class Wrong:
        name: str = "a"

    with pytest.raises(TypeError, match="str: has no typed attribute length"):
        make_adapter(Wrong)
