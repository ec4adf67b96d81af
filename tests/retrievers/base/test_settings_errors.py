"""What is said of wrong settings: the key, what was given, what is allowed."""

from typing import Annotated, Literal

import pytest
from pydantic import Field, model_validator

from assay.retrievers.base import AssayError
from assay.retrievers.settings import Settings, validate


class Square(Settings):
    type: Literal["square"]
    width: float = Field(1.0, gt=0)


class Circle(Settings):
    type: Literal["circle"]
    radius: int = 1
    circle: list[int] = Field([])
    holes: list[int] = Field([])


class Picture(Settings):
    title: str
    shape: Annotated[Square | Circle, Field(discriminator="type")] | None = None
    shapes: list[Annotated[Square | Circle, Field(discriminator="type")]] = Field([])
    named: dict[str, Annotated[Square | Circle, Field(discriminator="type")]] = Field({})
    place: str | Square = "wall"
    axes: dict[str, list[int]] | list[dict[str, list[int]]] = Field({})

    @model_validator(mode="after")
    def _is_not_forbidden(self) -> "Picture":
        if self.title == "Untitled":
            raise ValueError("title: give it one")
        return self


def refuse(**values):
    with pytest.raises(AssayError) as caught:
        validate(Picture, {"title": "x"} | values, "a.yaml")
    return str(caught.value)


CIRCLE = {"type": "circle"}


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"title": 5}, "title: input should be a valid string, not 5"),
        ({"title": "Untitled"}, "title: give it one"),
        (
            {"titel": "x"},
            "titel: unknown key; allowed: title, shape, shapes, named, place, axes; "
            "did you mean title?",
        ),
        ({"x": 1}, "x: unknown key; allowed: title, shape, shapes, named, place, axes"),
        (
            {"shape": {"type": "circel"}},
            "shape.type: 'circel' is not one of: 'square', 'circle'; did you mean circle?",
        ),
        ({"shape": {}}, "shape: must be a mapping with the key `type`, one of: square, circle"),
        ({"shape": 5}, "with the key `type`, one of: square, circle, not 5"),
        (
            {"shapes": [CIRCLE, CIRCLE | {"radios": 1}]},
            "shapes.1.radios: unknown key; allowed: type, radius, circle, holes; "
            "did you mean radius?",
        ),
        (
            {"named": {"circle": {"type": "square", "width": 0}}},
            "named.circle.width: input should be greater than 0, not 0",
        ),
        (
            {"named": {"circle": {"type": "circle", "width": 0}}},
            "named.circle.width: unknown key; allowed: type, radius",
        ),
        ({"place": {"type": "square", "width": -1}}, "place.width: input should be greater th"),
        (
            {"place": 5},
            "place: input should be a valid string or must be a mapping of keys to values, not 5",
        ),
        ({"shape": CIRCLE | {"circle": [1, "x"]}}, "shape.circle.1: input should be a valid int"),
        ({"shape": CIRCLE | {"circle": [], "holes": ["x"]}}, "shape.holes.0: input should be a"),
        ({"axes": {"k": 5}}, "axes.k: input should be a valid list, not 5"),
        ({"axes": [{"k": ["x"]}]}, "axes.0.k.0: input should be a valid integer, not 'x'"),
        ({"title": ["long"] * 99}, "'long', 'lo…"),
        (
            {"title": 1, "shape": CIRCLE | {"radius": "x"}},
            "a.yaml: title: input should be a valid string, not 1; "
            "shape.radius: input should be a valid integer, not 'x'",
        ),
    ],
)
def test_a_wrong_key_is_one_line(values, line):
    message = refuse(**values)
    assert message.startswith("a.yaml: ")
    assert line in message
    assert "\n" not in message


@pytest.mark.parametrize("values", [None, 5, "x", [], [1]])
def test_what_is_no_mapping_is_refused(values):
    with pytest.raises(AssayError, match=r"^a\.yaml: must be a mapping of keys to values$"):
        validate(Picture, values, "a.yaml")
    found = validate(Picture, {"title": "x", "named": {"one": CIRCLE}}, "a.yaml")
    assert found.named == {"one": Circle(type="circle")}
