"""Settings to try: values for dotted config keys, and the points that they span."""

import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Annotated, Any

import yaml
from pydantic import Field

from assay.eval.runs.config_keys import shorten
from assay.retrievers.base import AssayError
from assay.retrievers.base.yaml_text import parse_yaml

Point = Mapping[str, Any]
# Values by dotted key, as in {"retriever.fusion.k": [10, 60]}.
Axes = Annotated[
    dict[str, Annotated[list[Any], Field(min_length=1)]],
    Field(description="values by dotted config key; `*` stands for every key there is"),
]


def cross(axes: Mapping[str, Sequence[Any]]) -> list[Point]:
    """Return every combination of the values, the last key varying fastest; no axes: one point."""
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def unite(grids: Iterable[Mapping[str, Sequence[Any]]]) -> list[Point]:
    """Return the points of several grids, one grid after the other, none of them twice."""
    points: list[Point] = []
    for point in (point for axes in grids for point in cross(axes)):
        if point not in points:
            points.append(point)
    return points


def draw(points: Sequence[Point], trials: int, seed: int) -> list[Point]:
    """Return `trials` of `points`, drawn at random without replacement, in their own order."""
    if trials >= len(points):
        return list(points)
    chosen = random.Random(seed).sample(range(len(points)), trials)
    return [points[i] for i in sorted(chosen)]


def parse_axis(text: str) -> tuple[str, list[Any]]:
    """Read `key=v1,v2,v3` into the key and its values, each of which is YAML.

    Raises AssayError when it is not of that form.
    """
    key, equals, values = text.partition("=")
    try:
        parsed = parse_yaml(f"[{values}]", text)
    except AssayError:
        parsed = None
    if not (key and equals and parsed):
        raise AssayError(f"{text}: an axis is key.path=v1,v2,v3, as in retriever.fusion.k=10,60")
    return key, parsed


def spread(key: str, values: Mapping[str, Any]) -> list[str]:
    """Return `key` with `*` replaced by each key that `values`, a resolved config, has there.

    Raises AssayError where there are none.
    """
    before, star, after = key.partition("*")
    if not star:
        return [key]
    place: Any = values
    for part in filter(None, before.split(".")):
        place = place.get(part) if isinstance(place, Mapping) else None
    if not (isinstance(place, Mapping) and place):
        raise AssayError(f"{key}: there are no keys at {before.rstrip('.') or 'the top'}")
    return [full for name in place for full in spread(f"{before}{name}{after}", values)]


def as_overrides(point: Point, values: Mapping[str, Any]) -> list[str]:
    """Return the overrides that apply `point` to a config whose resolved values are `values`.

    Keys of fewer parts come first, so that a key below another changes the value of that one.
    """
    return [
        f"{full}={_dump(point[key])}"
        for key in sorted(point, key=lambda name: name.count("."))
        for full in spread(key, values)
    ]


def describe(value: Any) -> str:
    """Return a value in few words: a mapping by its `type` and its other values."""
    if not isinstance(value, Mapping):
        return _dump(value)
    rest = [f"{key} {describe(item)}" for key, item in value.items() if key != "type"]
    return " ".join([*filter(None, [str(value.get("type", ""))]), *rest])


def label(point: Point) -> str:
    """Return a point in words, each key by the shortest suffix that distinguishes it."""
    names = shorten(point)
    return ", ".join(f"{names[key]} {describe(value)}" for key, value in point.items())


class _LineDumper(yaml.SafeDumper):
    """Keeps every value on one line."""


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_LineDumper.add_representer(str, _represent)


def _dump(value: Any) -> str:
    """Return `value` as YAML on one line."""
    text: str = yaml.dump(
        [value], Dumper=_LineDumper, default_flow_style=True, width=float("inf"), allow_unicode=True
    )
    return text.strip()[1:-1]
