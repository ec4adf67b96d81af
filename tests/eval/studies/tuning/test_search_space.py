"""Spaces of settings: grids, samples, labels and what they lay on a config."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from assay.eval.running.search_space import (
    as_overrides,
    cross,
    draw,
    label,
    parse_axis,
    spread,
    unite,
)
from assay.eval.runs.config_keys import shorten
from assay.retrievers.base import AssayError

CONFIG = {"retriever": {"legs": {"dense": {"depth": 1}, "keyword": {"depth": 2}}}, "name": "x"}


def test_a_grid_is_every_combination_once_and_grids_are_united():
    product = [(1, "x"), (1, "y"), (2, "x"), (2, "y")]
    assert cross({"a": [1, 2], "b": ["x", "y"]}) == [{"a": a, "b": b} for a, b in product]
    assert cross({}) == [{}]
    points = unite([{"a": [1, 2]}, {"a": [2, 3]}, {"b": [1]}])
    assert points == [{"a": 1}, {"a": 2}, {"a": 3}, {"b": 1}]


def test_an_axis_is_read_as_yaml():
    read = [1, 0.5, "x", True, {"type": "y", "k": 2}]
    assert parse_axis("a.b=1,0.5,x,true,{type: y, k: 2}") == ("a.b", read)


def test_a_sample_is_of_the_grid_and_of_the_seed():
    points = cross({"a": list(range(50))})
    sample = draw(points, 10, seed=1)
    assert len(sample) == 10
    assert sample == sorted(sample, key=points.index)
    assert sample == draw(points, 10, seed=1)
    assert sample != draw(points, 10, seed=2)
    assert draw(points, 50, seed=1) == draw(points, 99, seed=1) == points


def test_a_star_stands_for_every_key_there_is():
    assert spread("retriever.legs.*.depth", CONFIG) == [
        "retriever.legs.dense.depth",
        "retriever.legs.keyword.depth",
    ]
    assert spread("retriever.fusion.k", CONFIG) == ["retriever.fusion.k"]
    with pytest.raises(AssayError, match=r"retriever.stages.\*.depth: there are no keys at"):
        spread("retriever.stages.*.depth", CONFIG)


def test_keys_come_before_those_below_them():
    point = {"retriever.fusion.k": 5, "retriever.fusion": {"type": "rrf"}, "name": "y"}
    assert as_overrides(point, CONFIG) == [
        "name=y",
        "retriever.fusion={type: rrf}",
        "retriever.fusion.k=5",
    ]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=4,
    )
)
def test_an_override_says_its_value(value):
    (override,) = as_overrides({"key": value}, {})
    assert "\n" not in override
    assert yaml.safe_load(override.partition("=")[2]) == value


def test_labels_are_short_and_tell_keys_apart():
    assert shorten(["a.b.k", "a.c.k", "x.depth"]) == {
        "a.b.k": "b.k",
        "a.c.k": "c.k",
        "x.depth": "depth",
    }
    assert shorten(["k", "a.k"]) == {"k": "k", "a.k": "a.k"}
    point = {"retriever.fusion.k": 5, "documents.chunker": {"type": "fixed", "max_tokens": 9}}
    assert label(point) == "k 5, chunker fixed max_tokens 9"
