"""Rows that change while they are searched: each rule catches a store that breaks it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tools.extras import skip_without

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
skip_without("faiss", "faiss")

RULES = {rule.name: rule for rule in conformance.RULES}


class FindsFarthest(faiss_live.FaissRows):  # type: ignore[misc]
    """Leaves out what is nearest."""

    def search(self, vector: Vectors, limit: int) -> list[Scored]:
        found: list[Scored] = super().search(vector, limit + 1)
        return found[1:]


class KeepsDeleted(faiss_live.FaissRows):  # type: ignore[misc]
    """Deletes nothing."""

    def delete(self, ids: Sequence[int]) -> None:
        """Does nothing."""


class PutsTwice(faiss_live.FaissRows):  # type: ignore[misc]
    """Leaves the row that it replaces."""

    def put(self, ids: Sequence[int], vectors: Vectors) -> None:
        self._index.add_with_ids(vectors, faiss_live.np.asarray(ids))


class ForgetsLast(faiss_live.FaissRows):  # type: ignore[misc]
    """Loses one row of a batch where there are rows already."""

    def put(self, ids: Sequence[int], vectors: Vectors) -> None:
        kept = len(ids) - (self._index.ntotal > 0)
        super().put(ids[:kept], vectors[:kept])


@pytest.mark.parametrize(
    ("rule", "rows"),
    [
        ("rows_are_found_as_near_as_they_are", FindsFarthest),
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
    assert live == {"chroma", "faiss", "lancedb", "postgres", "qdrant-edge", "sqlite"}
