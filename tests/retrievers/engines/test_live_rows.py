"""Rows that change while they are searched: each rule catches a store that breaks it."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import pytest

from assay.eval.configs.engine_settings import list_engines, read_engine
from assay.retrievers.conformance import ConformanceError
from assay.retrievers.engines import conformance
from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.crud import LiveRows
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

faiss_live = pytest.importorskip("assay.retrievers.engines.faiss.engine")
pytest.importorskip("faiss", reason="needs the extra `faiss`")

RULES = {rule.name: rule for rule in conformance.RULES}


class LiveIgnorant(faiss_live.FaissRows):  # type: ignore[misc]
    """Finds rows whatever their labels."""

    def search(self, vector: Vectors, limit: int, labels: Collection[str] = ()) -> list[Scored]:
        found: list[Scored] = super().search(vector, limit)
        return found


class FilterLater(faiss_live.FaissRows):  # type: ignore[misc]
    """Looks for labels among the nearest rows alone."""

    def search(self, vector: Vectors, limit: int, labels: Collection[str] = ()) -> list[Scored]:
        nearest: list[Scored] = super().search(vector, limit)
        return [
            pair
            for pair in nearest
            if not labels or self._labels[pair[0]] in {self._numbers.get(one) for one in labels}
        ]


class KeepsDeleted(faiss_live.FaissRows):  # type: ignore[misc]
    """Deletes nothing."""

    def delete(self, ids: Sequence[int]) -> None:
        """Does nothing."""


class PutsTwice(faiss_live.FaissRows):  # type: ignore[misc]
    """Leaves the row that it replaces."""

    def put(self, ids: Sequence[int], vectors: Vectors, labels: Sequence[str]) -> None:
        others = faiss_live.np.asarray(ids)
        if len(self._labels) > max(ids):
            self._index.add_with_ids(vectors, others)
        else:
            super().put(ids, vectors, labels)


class ForgetsLast(faiss_live.FaissRows):  # type: ignore[misc]
    """Loses one row of a batch where there are rows already."""

    def put(self, ids: Sequence[int], vectors: Vectors, labels: Sequence[str]) -> None:
        kept = len(ids) - (self._index.ntotal > 0)
        super().put(ids[:kept], vectors[:kept], labels[:kept])


@pytest.mark.parametrize(
    ("rule", "rows"),
    [
        ("rows_are_found_by_their_labels", LiveIgnorant),
        ("rows_are_found_by_their_labels", FilterLater),
        ("rows_change_for_the_next_search", KeepsDeleted),
        ("rows_change_for_the_next_search", PutsTwice),
        ("rows_are_searched_while_they_change", KeepsDeleted),
        ("rows_are_searched_while_they_change", ForgetsLast),
    ],
)
def test_a_rule_catches_what_breaks_it(
    rule: str, rows: Callable[[int], LiveRows], tmp_path: Path
) -> None:
    def make() -> Engine:
        engine = read_engine("faiss").build(Resources(Cache(tmp_path)))
        engine.open_live = rows  # type: ignore[method-assign]
        return engine

    with pytest.raises(ConformanceError):
        RULES[rule].check(make)


def test_the_capabilities_say_which_are_live() -> None:
    live = {engine.type for engine in list_engines() if engine.settings.capabilities.live}
    assert live == {"chroma", "duckdb", "faiss", "lancedb", "postgres", "qdrant-edge", "sqlite"}
