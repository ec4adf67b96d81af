"""Adapters beside their clients, and stores side by side."""

import time
from collections import Counter
from contextlib import closing
from threading import Lock
from typing import Any

import pytest

from eval.experiments.engine_settings import is_usable, list_engines, read_engine
from eval.parity.clients import ADAPTER, BOUND, CLIENT, compare_client
from eval.parity.load import ROUNDS, WARM_UP, load_by_turns
from retrievers.base import AssayError, Quiet
from retrievers.engines.conformance import encode, index
from retrievers.settings import Workshop
from retrievers.store.cache import Cache

FEW = ("cats run fast", "the dog", "a running cat and a cat", "nothing", "dogs and cats")
HERE = [engine for engine in list_engines() if not engine.settings.capabilities.address]
TIMES = [4.0 + 0.01 * (at * 7 % 40) for at in range(80)]


@pytest.mark.parametrize("engine", HERE, ids=lambda engine: engine.type)
def test_the_bare_client_finds_what_the_adapter_finds(engine: Any, tmp_path: Any) -> None:
    if not is_usable(engine):
        pytest.skip(f"needs the extra `{engine.settings.capabilities.extra}`")
    vector = encode("running cat")
    with closing(engine.build(Workshop(Cache(tmp_path)))) as store:
        with pytest.raises(AssayError, match=r"nothing is indexed that a client could be asked"):
            store.open_bare()
        index(store, FEW)
        bare = store.open_bare()
        assert bare is not None
        listed = []
        for ready, ask, given in (
            (bare.dense, store.dense, vector),
            (bare.keyword, store.keyword, "running cat"),
        ):
            if ready is None:
                continue
            listed.append("dense" if ready is bare.dense else "keyword")
            found = [_position(row) for row in ready(given, 4)()]
            assert sorted(found) == sorted(position for position, _ in ask(given, 4))
            assert found
        assert tuple(listed) == engine.settings.capabilities.lists
        bare.close()


def _position(row: Any) -> int:
    """Return a text's position: rows of a LanceDB table without updates are numbered so."""
    return int(row["_rowid"] if isinstance(row, dict) else row[0])


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(0.9, "within"), (1.1, "within"), (1.19999, "cannot tell"), (1.4, "over")],
)
def test_the_whole_interval_counts(factor: float, verdict: str) -> None:
    noisy = [taken * factor * (1 + 0.01 * (at % 5 - 2)) for at, taken in enumerate(TIMES)]
    found = compare_client("dense", {ADAPTER: noisy, CLIENT: TIMES})
    assert found.ratio.value == pytest.approx(factor, rel=0.02)
    assert found.verdict == verdict
    assert BOUND == 1.2
    assert found.delays == ()


def test_a_wait_is_told_with_who_waits() -> None:
    waiting = [taken + 44 * (at % 3 > 0) for at, taken in enumerate(TIMES)]
    found = compare_client("dense", {ADAPTER: waiting, CLIENT: TIMES})
    (line,) = found.delays
    assert line.startswith("dense, adapter: 66% of 80 queries take 44 ms longer")
    assert found.verdict == "over"


def test_callers_ask_at_once_and_systems_take_turns() -> None:
    lock, inside, most, order = Lock(), Counter[str](), Counter[str](), list[str]()

    def make(name: str) -> Any:
        def measure(_: int) -> float:
            with lock:
                inside[name] += 1
                most[name] = max(most[name], inside[name])
                order.append(name)
            time.sleep(0.005)
            with lock:
                inside[name] -= 1
            return 5.0

        return measure

    loads = load_by_turns({"a": make("a"), "b": make("b")}, range(16), 4, Quiet())
    assert most == {"a": 4, "b": 4}
    assert all(load.callers == 4 and load.milliseconds == (5.0,) * 16 for load in loads.values())
    assert all(load.throughput > 1 / 0.005 for load in loads.values())
    measured = order[2 * 4 * WARM_UP :]
    turns = [measured[at] for at in range(0, len(measured), 16)]
    assert turns == ["a", "b", "b", "a", "a", "b"]
    assert len(turns) == 2 * ROUNDS


@pytest.mark.parametrize("engine", list_engines(), ids=lambda engine: engine.type)
def test_capabilities_say_whether_search_is_exact(engine: Any, tmp_path: Any) -> None:
    if not engine.settings.capabilities.installed:
        pytest.skip(f"needs the extra `{engine.settings.capabilities.extra}`")
    with closing(engine.build(Workshop(Cache(tmp_path)))) as store:
        assert store.facts()["exact"] is engine.settings.capabilities.exact


def test_no_engine_is_met_that_nothing_can_be_asked_of() -> None:
    assert read_engine("weaviate").settings.capabilities.met == "1.39.0"
    assert not [engine.type for engine in HERE if engine.settings.capabilities.met]
