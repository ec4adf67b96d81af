"""An engine that does not do what it says is found out."""

import argparse
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from doubles.faulty_engines import FaultyEngine, fuse_by, fuse_lists

from assay.eval.studies.stores.parity.running import judge
from assay.eval.studies.stores.parity.verdicts import conclude
from assay.retrievers.engines.base import EngineLists
from assay.retrievers.engines.conformance.sample import encode, index
from assay.retrievers.engines.formulas import (
    ReciprocalRanks,
    sum_deviations,
    sum_scaled,
)
from assay.retrievers.engines.parity.parity import Observation
from assay.retrievers.engines.stores.qdrant_edge import QdrantEdgeSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

QUERIES = (
    "add an argument to the parser", "print usage and exit", "namespace", "optional prefix chars",
    "the type of an action", "error message", "parse known args", "default value of a dest",
)  # fmt: skip
RRF = ReciprocalRanks(60)
MIN_MAX = sum_scaled((0.7, 0.3))
WEIGHTED = ReciprocalRanks(60, weights=(2.0, 1.0))


def list_texts():
    """Real prose and code that every Python has, some of it twice."""
    parts = re.split(r"\n\s*\n", Path(argparse.__file__).read_text())
    paragraphs = [part for part in parts if part.strip()]
    return paragraphs[:300] + paragraphs[:50]


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """An engine that holds texts, and their number."""
    resources = Resources(Cache(tmp_path_factory.mktemp("cache")))
    settings = QdrantEdgeSettings.model_validate({"depth": {"dense": 40, "keyword": 30}, "k": 61})
    engine = settings.build(resources)
    yield SimpleNamespace(engine=engine, texts=len(index(engine, list_texts())))
    engine.close()


def look(engine, texts):
    seen = {query: Observation(engine, query, encode(query), texts) for query in QUERIES}
    verdicts = judge(seen)
    return conclude(verdicts), verdicts


def at_depth(depth, side):
    def change(lists, self, text, vector):
        listed = self.dense(vector, depth) if side == "dense" else self.keyword(text, depth)
        return lists._replace(**{side: listed})

    return fuse_lists(change)


def forget(lists, self, text, vector):
    """As a graph does that misses every fourth text."""
    found = self.dense(vector, 2 * self.depth.dense)
    kept = [one for i, one in enumerate(found) if i % 4 != 1]
    return lists._replace(dense=kept[: self.depth.dense])


def misread(lists, self, text, vector):
    """As an analyzer does that takes words apart otherwise."""
    words = " ".join(word[:-1] if len(word) > 4 else word for word in text.split())
    return lists._replace(keyword=self.keyword(words + " self", self.depth.keyword))


LIES = {
    "rank origin": (RRF, fuse_by(ReciprocalRanks(60, first=0))),
    "k": (RRF, fuse_by(ReciprocalRanks(2))),
    "nearly k": (RRF, fuse_by(ReciprocalRanks(61))),
    "k by ranks": (
        ReciprocalRanks(61, 0, (3.0, 0.5), "ranks"),
        fuse_by(ReciprocalRanks(2, 0, (3.0, 0.5), "ranks", single=True)),
    ),
    "shallow dense": (RRF, at_depth(10, "dense")),
    "deep dense": (RRF, at_depth(55, "dense")),
    "shallow keyword": (MIN_MAX, at_depth(12, "keyword")),
    "min-max": (RRF, fuse_by(sum_scaled((1, 1)))),
    "deviations": (MIN_MAX, fuse_by(sum_deviations())),
    "ranks": (MIN_MAX, fuse_by(RRF)),
    "swapped": (WEIGHTED, fuse_by(ReciprocalRanks(60, weights=(1.0, 2.0)))),
    "unweighted": (WEIGHTED, fuse_by(RRF)),
    "approximate": (RRF, fuse_lists(forget)),
    "approximate min-max": (MIN_MAX, fuse_lists(forget)),
    "analyzer": (RRF, fuse_lists(misread)),
    "analyzer deviations": (sum_deviations(), fuse_lists(misread)),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_found(standing, name):
    stated, lie = LIES[name]
    verdict, verdicts = look(FaultyEngine(standing.engine, lie, stated), standing.texts)
    assert verdict == "different"
    assert list(verdicts.values()).count("different") > len(QUERIES) / 2


def test_an_exact_list_inside_of_an_approximate_engine(standing, tmp_path):
    settings = {"exact": False, "m": 2, "ef_construct": 4, "ef": 1}
    engine = QdrantEdgeSettings.model_validate(settings).build(Resources(Cache(tmp_path)))
    vectors = index(engine, list_texts())
    verdict, _ = look(engine, len(vectors))
    assert verdict == "identical"

    def exact(lists, self, text, vector):
        return lists._replace(dense=standing.engine.dense(vector, self.depth.dense))

    verdict, _ = look(FaultyEngine(engine, fuse_lists(exact)), len(vectors))
    engine.close()
    assert verdict == "different"


def test_the_engine_itself_does_what_it_says(standing):
    verdict, _ = look(standing.engine, standing.texts)
    assert verdict == "identical"


def reverse_ties(scored):
    return sorted(scored, key=lambda pair: (-round(pair[1], 6), -pair[0]))


@pytest.mark.parametrize(
    "lie",
    [
        lambda self, text, vector: reverse_ties(self.formula.fuse(*self.lists(text, vector))),
        fuse_lists(lambda lists, *_: EngineLists(*map(reverse_ties, lists))),
        # Also where a tie stands across the end of the list.
        fuse_lists(
            lambda lists, self, text, vector: lists._replace(
                dense=reverse_ties(self.dense(vector, 350))[: self.depth.dense]
            )
        ),
    ],
    ids=["fused", "within lists", "at the end of a list"],
)
def test_ties_are_told_from_differences(standing, lie):
    verdict, verdicts = look(FaultyEngine(standing.engine, lie), standing.texts)
    assert verdict == "identical but for ties"
    assert "ties" in verdicts.values()
