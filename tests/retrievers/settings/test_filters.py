"""Filters: what they mean, what they refuse, and that ours is the meaning of plain Python."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.retrievers.base import AssayError
from assay.retrievers.settings.fields import find_misfit
from assay.retrievers.settings.filters import Filter, read_filter

FIELDS = {"tags": "list of text", "size": "number", "on": "date", "done": "boolean"}


def matches(condition, **metadata):
    return read_filter(condition, "filter", FIELDS).matches(metadata)


@pytest.mark.parametrize("metadata", [{}, {"tags": None}, {"tags": []}])
def test_what_has_no_value_meets_nothing_but_its_absence_and_every_not(metadata):
    met = {"field": "tags", "equals": "a"}
    assert not matches(met, **metadata)
    assert matches({"not": met}, **metadata)
    assert matches({"field": "tags", "exists": False}, **metadata)
    assert not matches({"field": "tags", "exists": True}, **metadata)
    assert not matches({"field": "tags", "contains": ["a"]}, **metadata)


@pytest.mark.parametrize(
    ("condition", "metadata", "met"),
    [
        # One value of a list is enough but for contains.
        ({"field": "tags", "in": ["b", "c"]}, {"tags": ["a", "b"]}, True),
        ({"field": "tags", "contains": ["b", "c"]}, {"tags": ["a", "b"]}, False),
        ({"field": "tags", "contains": ["b", "a"]}, {"tags": ["a", "b"]}, True),
        ({"field": "size", "range": {"gt": 1, "lt": 9}}, {"size": [0, 10]}, False),
        # Types are never converted.
        ({"field": "size", "equals": 1}, {"size": "1"}, False),
        ({"field": "size", "equals": 1}, {"size": True}, False),
        ({"field": "size", "equals": 1}, {"size": 1.0}, True),
        ({"field": "tags", "equals": "A"}, {"tags": "a"}, False),
        # Moments are compared in UTC.
        ({"field": "on", "equals": "2024-01-01T12:00Z"}, {"on": "2024-01-01T13:00:00+01:00"}, True),
    ],
)
def test_what_meets_a_condition(condition, metadata, met):
    assert matches(condition, **metadata) is met
    noon = datetime(2024, 1, 1, 12, tzinfo=UTC)
    assert Filter(field="on", equals=noon).matches({"on": "2024-01-01T13:00:00+01:00"})


@pytest.mark.parametrize(
    ("bounds", "inside"),
    [
        ({"le": "2024-01-31"}, True),
        ({"gt": "2024-01-31"}, False),
        ({"ge": "2024-01-31"}, True),
        ({"lt": "2024-01-31"}, False),
        ({"lt": "2024-01-31T12:00:00"}, True),
        ({"ge": "2024-01-31T12:00:00+02:00"}, True),
        ({"ge": "2024-01-31T12:00:00-02:00"}, False),
    ],
)
def test_a_day_is_all_of_it_in_utc(bounds, inside):
    condition = {"field": "on", "range": bounds}
    assert matches(condition, on="2024-01-31T11:00:00Z") is inside
    assert matches(condition, on=datetime(2024, 1, 31, 13, tzinfo=None) - timedelta(hours=2)) is (
        inside
    )
    assert matches({"field": "on", "equals": "2024-01-31"}, on="2024-01-31T23:59:59")
    assert not matches({"field": "on", "equals": "2024-01-31"}, on="2024-01-31T23:59:59-01:00")


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ({"field": "size", "equals": "5"}, "f: size: '5' is no number"),
        ({"field": "tag", "equals": "a"}, "no such field: tag; allowed: tags.*did you mean tags"),
        ({"field": "on", "range": {"ge": "2024-13-01"}}, "is no date"),
        ({"field": "done", "range": {"ge": True}}, "have no range"),
        ({"field": "size", "equals": 1, "exists": True}, "one condition, not equals, exists"),
        ({"equals": 1}, "needs the field"),
        ({"and": []}, "at least 1"),
        ({"field": "size", "eq": 1}, "unknown key; allowed: and, or, not, field, equals, in"),
        ({"field": "size", "equals": float("nan")}, "size|number"),
    ],
)
def test_a_bad_filter_is_refused_in_one_line(condition, told):
    with pytest.raises(AssayError, match=told) as raised:
        read_filter(condition, "f", FIELDS)
    assert "\n" not in str(raised.value)


def test_metadata_that_is_not_as_declared_is_told():
    assert find_misfit({"tags": ["a"], "size": 1, "on": date(2024, 1, 1)}, FIELDS) == ""
    assert "size: '1' is no number" in find_misfit({"size": "1"}, FIELDS)
    assert "done: a list" in find_misfit({"done": [True]}, FIELDS)


moments = st.datetimes(datetime(2024, 1, 1), datetime(2024, 1, 5)).map(lambda i: i.isoformat())
VALUES = {
    "tags": st.sampled_from("abc"),
    "size": st.sampled_from([0, 1, 2, 2.5]),
    "on": moments | st.sampled_from(["2024-01-02", "2024-01-03T00:00:00+05:00"]),
    "done": st.booleans(),
}


def _conditions(name):
    values, several = VALUES[name], st.lists(VALUES[name], min_size=1, max_size=3)
    tests = [
        values.map(lambda i: {"equals": i}),
        several.map(lambda i: {"in": i}),
        several.map(lambda i: {"contains": i}),
        st.booleans().map(lambda i: {"exists": i}),
    ]
    if name != "done":
        ends = st.sampled_from(["ge", "gt", "le", "lt"])
        tests.append(
            st.dictionaries(ends, values, min_size=1).map(lambda i: {"range": i}),
        )
    return st.one_of(tests).map(lambda test: read_filter({"field": name, **test}, "f", FIELDS))


FILTERS = st.recursive(
    st.sampled_from(list(VALUES)).flatmap(_conditions),
    lambda inner: (
        st.tuples(inner, inner).map(lambda i: i[0] & i[1])
        | st.tuples(inner, inner).map(lambda i: i[0] | i[1])
        | inner.map(lambda i: ~i)
    ),
    max_leaves=4,
)
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        name: values | st.none() | st.lists(values, max_size=2) for name, values in VALUES.items()
    },
)


@settings(max_examples=100, deadline=None)
@given(FILTERS, FILTERS, DOCUMENTS)
def test_the_laws_of_logic_hold_and_json_says_it_all(one, other, document):
    holds = one.matches(document)
    assert (~one).matches(document) is not holds
    assert (one & other).matches(document) is (holds and other.matches(document))
    assert (~(~one & ~other)).matches(document) is (one | other).matches(document)
    assert read_filter(one.as_json(), "f", FIELDS).matches(document) is holds
    assert set(one.list_fields()) <= set(FIELDS)
