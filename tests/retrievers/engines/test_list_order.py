"""Equal scores in the lists of engines, and indexes that are built again."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, ClassVar, Literal, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.retrievers.base.adapted import AdaptedRetriever
from assay.retrievers.conformance import ConformanceError
from assay.retrievers.documents.preparation import DocumentSettings
from assay.retrievers.engines.adapter import Adapter
from assay.retrievers.engines.base import StoreSettings
from assay.retrievers.engines.capabilities import Capabilities
from assay.retrievers.engines.conformance.order_rules import (
    equal_scores_are_ordered_by_position,
    index_built_again_ranks_the_same,
    linked_texts_stand_beside_each_other,
)
from assay.retrievers.fusion.ranking import ordered
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache
from examples.memory_engine import Memory, MemorySettings

SCORES = st.lists(st.sampled_from([3.0, 2.0, 1.0]), min_size=1, max_size=40)


class ScriptedSettings(StoreSettings):
    """A store whose keyword scores are given."""

    capabilities: ClassVar[Capabilities] = Capabilities("here")
    type: Literal["scripted"] = "scripted"

    def build(self, resources):
        raise NotImplementedError


class Scripted(Adapter[ScriptedSettings, object]):
    """Gives its texts best first, equal scores from the last to the first, as many as asked."""

    formula: Any = None
    _exact = True

    def __init__(self, scores):
        super().__init__(ScriptedSettings(), Resources(cast(Cache, None)))
        self._opened, self._texts, self.asked = object(), len(scores), []
        self._found = sorted(enumerate(scores), key=lambda pair: (-pair[1], -pair[0]))

    def _search_keyword(self, opened, text, limit):
        self.asked.append(limit)
        return self._found[:limit]

    def _shape(self):
        return ()

    def _store(self, texts, vectors, identity):
        raise NotImplementedError


@given(SCORES, st.integers(1, 50))
def test_equal_scores_at_the_end_compete_by_position(scores, limit):
    engine = Scripted(scores)
    assert engine.keyword("any", limit) == ordered(enumerate(scores))[:limit]


def test_one_hit_more_is_asked_for_where_nothing_ties_at_the_end():
    engine = Scripted([9.0, 8.0, 7.0, 6.0, 5.0])
    engine.keyword("any", 3)
    assert engine.asked == [4]


def test_what_the_store_does_not_give_is_not_waited_for():
    """Ten texts tie, and the store gives them all: nothing is left to ask for."""
    engine = Scripted([1.0] * 10)
    assert [position for position, _ in engine.keyword("any", 3)] == [0, 1, 2]
    assert engine.asked == [4, 8, 16]


class Reversing(Memory):
    """Has equal scores the wrong way round."""

    def keyword(self, text, limit):
        found = super().keyword(text, len(self.words))
        return sorted(found, key=lambda pair: (-pair[1], -pair[0]))[:limit]


class Moving(Memory):
    """Each index adds up otherwise."""

    builds = count()

    def index(self, texts, vectors, identity):
        self.build = next(self.builds)
        return super().index(texts, vectors, identity)

    def dense(self, vector, limit):
        found = super().dense(vector, len(self.words))
        return ordered((i, score + 1e-6 * (self.build + i) % 3) for i, score in found)[:limit]


class Declared(Moving):
    """As Moving, and says so."""

    reproducible = False

    def metadata(self):
        return {**super().metadata(), "nondeterministic": True}


def test_an_engine_that_leaves_ties_as_they_come_is_found():
    equal_scores_are_ordered_by_position(lambda: Memory(MemorySettings()))
    with pytest.raises(ConformanceError, match="keyword"):
        equal_scores_are_ordered_by_position(lambda: Reversing(MemorySettings()))


def test_an_engine_that_moves_is_found_unless_it_says_so():
    with pytest.raises(ConformanceError, match="built again"):
        index_built_again_ranks_the_same(lambda: Moving(MemorySettings()))
    index_built_again_ranks_the_same(lambda: Declared(MemorySettings()))


class Linked(Memory):
    """Keeps the order of the texts of documents until others are indexed."""

    documents: Mapping[str, Sequence[int]] = {}
    linked: Mapping[str, Sequence[int]] = {}

    def relate(self, documents):
        self.documents = documents

    def index(self, texts, vectors, identity):
        self.linked, self.documents = self.documents, {}
        return super().index(texts, vectors, identity)

    def beside(self, positions):
        if not self.linked:
            return None
        order = [i for places in self.linked.values() for i in (-1, *places, -1)]
        around = ((order.index(i) - 1, order.index(i) + 1) for i in positions)
        return [[order[j] for j in pair if order[j] >= 0] for pair in around]


class Running(Linked):
    """Does not know where a document ends."""

    def relate(self, documents):
        super().relate({"": [i for places in documents.values() for i in places]})


class Forgetful(Linked):
    """Has the links of texts that are gone."""

    def index(self, texts, vectors, identity):
        self.linked = self.documents
        return Memory.index(self, texts, vectors, identity)


def test_wrong_links_are_found():
    for right in (Memory, Linked):
        linked_texts_stand_beside_each_other(partial(right, MemorySettings()))
    for wrong in (Running, Forgetful):
        with pytest.raises(ConformanceError, match="beside"):
            linked_texts_stand_beside_each_other(partial(wrong, MemorySettings()))


@pytest.mark.parametrize(
    ("engine", "nondeterministic"),
    [
        ({"type": "qdrant-edge"}, False),
        ({"type": "qdrant-edge", "exact": False}, True),
        ({"type": "sqlite"}, False),
        ({"type": "lancedb", "index": {"type": "ivf-pq"}}, True),
    ],
)
def test_a_pipeline_is_nondeterministic_where_its_engine_is_not_reproducible(
    engine, nondeterministic, cache
):
    leg = {"type": "native_hybrid", "engine": engine}
    settings = PipelineSettings.model_validate({"legs": {"native": leg}})
    pipeline = AdaptedRetriever(settings.build(DocumentSettings(), Resources(Cache(cache))))
    assert pipeline.nondeterministic is nondeterministic
    facts = pipeline.metadata()["legs"]["native"]["engine"]
    assert facts.get("nondeterministic", False) is nondeterministic
