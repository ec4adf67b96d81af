"""What identifies somebody's code: two that answer differently are never taken for one."""

import functools
import importlib
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import run
from assay.eval.runs.code_identity import describe_code
from assay.retrievers.store.user_code import digest_module

TABLE = {"ferry": ["d1"]}
COUNTED = 0
HARBOUR = {
    "documents": {"d1": "the ferry sails", "d2": "dogs travel"},
    "queries": {"q1": "ferry", "q2": "dogs"},
    "judgments": {"q1": {"d1": 1}, "q2": {"d2": 1}},
}


def identify(code):
    found = describe_code(code)["identity"]
    return None if found == "unknown" else found


def look_up(query, k, boost=1):
    return [(id_, boost) for id_ in TABLE.get(query, ())][:k]


def other(query, k, boost=1):
    return [(id_, -boost) for id_ in TABLE.get(query, ())][:k]


def count(query, k):
    global COUNTED
    COUNTED += 1
    return ["d1"][:COUNTED]


class Search:
    scale = 1.0

    def __init__(self, boost: float) -> None:
        self.boost = boost

    def __call__(self, query: str, k: int) -> list[tuple[str, float]]:
        return look_up(query, k, self.scale * self.boost)

    def search(self, query: str, k: int) -> list[tuple[str, float]]:
        return self(query, k)


class Slots:
    __slots__ = ("boost",)

    def __init__(self, boost: float) -> None:
        self.boost = boost

    def __call__(self, query: str, k: int) -> list[tuple[str, float]]:
        return look_up(query, k, self.boost)


class Table(dict[str, list[str]]):
    def __call__(self, query: str, k: int) -> list[str]:
        return self[query][:k]


def close(boost):
    return lambda query, k: look_up(query, k, boost)


def wrap(function, boost):
    @functools.wraps(function)
    def wrapped(query: str, k: int) -> Any:
        return [(id_, score * boost) for id_, score in function(query, k)]

    return wrapped


MAKERS: dict[str, Callable[[float], Any]] = {
    "partial": lambda boost: functools.partial(look_up, boost=boost),
    "partial of a partial": lambda boost: functools.partial(
        functools.partial(look_up, boost=boost), k=3
    ),
    "closure": close,
    "default": lambda boost: lambda query, k, boost=boost: look_up(query, k, boost),
    "object": Search,
    "method": lambda boost: Search(boost).search,
    "wrapped": lambda boost: wrap(look_up, boost),
    "cached": lambda boost: functools.lru_cache(close(boost)),
    "partial method": lambda boost: functools.partial(Search(boost).search, k=2),
}


@pytest.mark.parametrize("maker", MAKERS)
@given(one=st.floats(0, 1), two=st.floats(0, 1))
def test_equal_values_alone_are_one(maker, one, two):
    first, second = (identify(MAKERS[maker](boost)) for boost in (one, two))
    assert first is not None
    assert (first == second) == (repr(one) == repr(two))


def test_partials_of_two_functions_are_two():
    assert identify(functools.partial(look_up, boost=1)) != identify(
        functools.partial(other, boost=1)
    )


def test_functions_on_one_line_are_two():
    first, second = (lambda q, k: look_up(q, k, 0.9)), (lambda q, k: look_up(q, k, 0.1))
    assert None is not identify(first) != identify(second)


def test_the_code_of_a_wrapper_counts_though_it_wraps():
    @functools.wraps(look_up)
    def reverse(query: str, k: int) -> Any:
        return look_up(query, k)[::-1]

    @functools.wraps(look_up)
    def plain(query: str, k: int) -> Any:
        return look_up(query, k)[:]

    assert None is not identify(reverse) != identify(plain)


def test_state_of_module_and_class_counts_by_value(monkeypatch):
    function, searcher = identify(look_up), identify(Search(1))
    monkeypatch.setitem(TABLE, "dogs", ["d1"])
    assert function != identify(look_up)
    assert searcher != identify(Search(1))
    monkeypatch.delitem(TABLE, "dogs")
    assert (function, searcher) == (identify(look_up), identify(Search(1)))
    monkeypatch.setattr(Search, "scale", 2.0)
    assert searcher != identify(Search(1))


def test_an_edited_method_counts(monkeypatch):
    before = identify(Search(1))
    monkeypatch.setattr(Search, "__call__", lambda self, query, k: other(query, k))
    assert None is not identify(Search(1)) != before


def count_up():
    calls = 0

    def counting(query: str, k: int) -> list[str]:
        nonlocal calls
        calls += 1
        return ["d1"][:calls]

    return counting


holder = Search(1)
UNKNOWN = {
    "a global that it changes": (count, "the global COUNTED"),
    "a variable that it changes": (count_up(), "the variable calls"),
    "a library": (lambda query, k: np.sort([1]), "the module numpy"),
    "an object in a global": (lambda query, k: holder(query, k), "an object of class Search"),
    "an object in a closure": (
        functools.partial(lambda query, k, held: held, held=object()),
        "an object of class object",
    ),
    "code in C": (operator.itemgetter("d1"), "an object of class itemgetter"),
    "a method in C": ({}.get, "dict.get, which is not written in Python"),
    "an object with slots": (Slots(1), "an object of class Slots"),
    "an object that is a dictionary": (Table(ferry=["d1"]), "an object of class dict"),
    "a file": (lambda query, k: open(query).read(), "the builtin open"),  # noqa: PTH123, SIM115
    "hashes, which differ by process": (lambda query, k: [hash(query)], "the builtin hash"),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_cannot_be_known_is_named(case):
    code, because = UNKNOWN[case]
    assert identify(code) is None
    assert because in describe_code(code)["because"]


def test_an_object_whose_helper_was_edited_is_not_the_same(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "own_helper.py").write_text("def score(i):\n    return 1 / (i + 1)\n")
    (tmp_path / "own_search.py").write_text(
        "from own_helper import score\n\n\nclass Mine:\n    def __call__(self, query, k):\n"
        "        return [(id_, score(i)) for i, id_ in enumerate(['d1', 'd2'])]\n"
    )
    importlib.invalidate_caches()
    own = importlib.import_module("own_search")
    before, files = identify(own.Mine()), digest_module("own_search")
    assert before is not None
    (tmp_path / "own_helper.py").write_text("def score(i):\n    return i + 100\n")
    for name in ("own_helper", "own_search"):
        sys.modules.pop(name)
    edited = importlib.import_module("own_search")
    assert None is not identify(edited.Mine()) != before
    assert digest_module("own_search") != files
    for name in ("own_helper", "own_search"):
        sys.modules.pop(name)


def measure(what):
    return run(what, collection=HARBOUR, measures=["nDCG@10"], track=False)


def test_a_changed_partial_is_measured_and_not_remembered():
    def rank(query: str, k: int, first: str) -> list[str]:
        return [first]

    one, two = (measure(functools.partial(rank, first=id_)) for id_ in ("d1", "d2"))
    assert one.id != two.id
    assert [result.hits("q1")["document"].iloc[0] for result in (one, two)] == ["d1", "d2"]
    assert measure(functools.partial(rank, first="d1")).id == one.id


def test_a_run_of_unknown_code_says_so_and_is_made_anew():
    def rank(query: str, k: int) -> list[str]:
        return ["d1"] if holder else []

    first = measure(rank)
    assert measure(rank).id != first.id
    page = (first.stored.folder / "report.md").read_text()
    assert "Measured anew, and again the next time:" in page
    assert "depends on an object of class Search" in page
