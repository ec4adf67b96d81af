"""Bare clients of stores, and stores side by side."""

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from threading import Barrier, Lock
from types import SimpleNamespace
from typing import Any, cast

import pytest

from assay.eval.configs.engine_settings import is_usable, list_engines, read_engine
from assay.eval.studies.stores.engines import changes
from assay.eval.studies.stores.engines.changes import ChangesResult, Sight
from assay.eval.studies.stores.engines.measurement import ROUNDS, WARM_UP, load_by_turns
from assay.eval.studies.stores.engines.synthetic_corpus import scatter
from assay.retrievers.base import AssayError, Quiet
from assay.retrievers.engines.conformance.live_rules import make_vectors
from assay.retrievers.engines.conformance.sample import encode, index
from assay.retrievers.engines.faiss.engine import FaissRows
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

FEW = ("cats run fast", "the dog", "a running cat and a cat", "nothing", "dogs and cats")
HERE = [engine for engine in list_engines() if not engine.settings.capabilities.address]


@pytest.mark.parametrize("engine", HERE, ids=lambda engine: engine.type)
def test_the_bare_client_finds_what_the_adapter_finds(engine: Any, tmp_path: Any) -> None:
    if not is_usable(engine):
        pytest.skip(f"needs the extra `{engine.settings.capabilities.extra}`")
    vector = encode("running cat")
    with closing(engine.build(Resources(Cache(tmp_path)))) as store:
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


class Lagging(FaissRows):
    """Shows a deletion to the second search after it, and never what is put anew.

    What it does is what `measure_changes` is to find.
    """

    hidden: frozenset[int] = frozenset()
    pending: frozenset[int] = frozenset()
    begun = False

    def delete(self, ids: Sequence[int]) -> None:
        self.begun, self.pending = True, frozenset(ids)

    def put(self, ids: Sequence[int], vectors: Vectors) -> None:
        if not self.begun:
            super().put(ids, vectors)
        self.hidden = self.pending = frozenset()

    def search(self, vector: Vectors, limit: int) -> list[Scored]:
        found = [row for row in super().search(vector, limit) if row[0] not in self.hidden]
        self.hidden, self.pending = self.hidden | self.pending, frozenset()
        return found


def test_what_a_store_does_with_changes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss", reason="needs the extra `faiss`")
    monkeypatch.setattr(changes, "PATIENCE", 1.0)
    monkeypatch.setattr(changes, "PROBES", 3)
    vectors = scatter(make_vectors(), 1200)
    queries = list(make_vectors()[:6])

    def look(rows: type[FaissRows]) -> ChangesResult:
        engine = SimpleNamespace(open_live=rows)
        return changes.measure_changes(cast(Any, engine), vectors, queries, Quiet())

    honest, lagging = look(FaissRows), look(Lagging)
    assert honest.deletions == honest.updates == Sight((0.0, 0.0, 0.0))
    assert (honest.rows, honest.batch) == (1200, 500)
    assert min(honest.rate, honest.rate_beside, honest.latency_beside["p50"].value) > 0
    assert lagging.updates == Sight((None, None, None))
    assert all(waited is not None and 0 < waited < 1.0 for waited in lagging.deletions.seconds)


def test_callers_ask_at_once_and_systems_take_turns() -> None:
    lock, inside, most, order = Lock(), Counter[str](), Counter[str](), list[str]()
    four = Barrier(4, timeout=60)

    def make(name: str) -> Any:
        def measure(_: int) -> float:
            with lock:
                inside[name] += 1
                most[name] = max(most[name], inside[name])
                order.append(name)
            four.wait()
            with lock:
                inside[name] -= 1
            return 5.0

        return measure

    loads = load_by_turns({"a": make("a"), "b": make("b")}, range(16), 4, Quiet())
    assert most == {"a": 4, "b": 4}
    assert all(load.callers == 4 and load.milliseconds == (5.0,) * 16 for load in loads.values())
    assert all(load.throughput > 0 for load in loads.values())
    measured = order[2 * 4 * WARM_UP :]
    turns = [measured[i] for i in range(0, len(measured), 16)]
    assert turns == ["a", "b", "b", "a", "a", "b"]
    assert len(turns) == 2 * ROUNDS


@pytest.mark.parametrize("engine", list_engines(), ids=lambda engine: engine.type)
def test_capabilities_say_whether_search_is_exact(engine: Any, tmp_path: Any) -> None:
    if not engine.settings.capabilities.installed:
        pytest.skip(f"needs the extra `{engine.settings.capabilities.extra}`")
    with closing(engine.build(Resources(Cache(tmp_path)))) as store:
        assert store.metadata()["exact"] is engine.settings.capabilities.exact


def test_no_engine_is_met_that_nothing_can_be_asked_of() -> None:
    assert read_engine("weaviate").settings.capabilities.met == "1.39.0"
    assert not [engine.type for engine in HERE if engine.settings.capabilities.met]
