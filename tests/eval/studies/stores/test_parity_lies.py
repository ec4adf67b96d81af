"""An engine that does not do what it says is found out, and what it does is named."""

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from doubles.faulty_engines import FaultyEngine, Lie, fuse_by, fuse_lists

from assay.eval.studies.stores.parity.sweep import QueryVerdicts, find_parity
from assay.eval.studies.stores.parity.verdicts import Diagnosis, conclude, diagnose
from assay.retrievers.base import Quiet
from assay.retrievers.engines.base import Engine, EngineLists
from assay.retrievers.engines.conformance.sample import encode, index
from assay.retrievers.engines.formulas import (
    DeviationScores,
    Formula,
    ReciprocalRanks,
    ScaledScores,
    SummedScores,
)
from assay.retrievers.engines.parity.parity import Observation
from assay.retrievers.engines.qdrant.edge import QdrantEdgeSettings
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

QUERIES = (
    "add an argument to the parser", "print usage and exit", "namespace", "optional prefix chars",
    "the type of an action", "error message", "parse known args", "default value of a dest",
)  # fmt: skip
RRF = ReciprocalRanks(60)
MIN_MAX = ScaledScores((0.7, 0.3))
WEIGHTED = ReciprocalRanks(60, weights=(2.0, 1.0))


def list_texts() -> list[str]:
    """Real prose and code that every Python has, some of it twice."""
    parts = re.split(r"\n\s*\n", Path(argparse.__file__).read_text())
    paragraphs = [part for part in parts if part.strip()]
    return paragraphs[:300] + paragraphs[:50]


@dataclass(frozen=True)
class Standing:
    engine: Engine
    vectors: Vectors


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standing]:
    resources = Resources(Cache(tmp_path_factory.mktemp("cache")))
    settings = QdrantEdgeSettings.model_validate({"depth": {"dense": 40, "keyword": 30}, "k": 61})
    engine = settings.build(resources)
    yield Standing(engine, index(engine, list_texts()))
    engine.close()


def look(engine: Engine, vectors: Vectors) -> tuple[str, QueryVerdicts, Diagnosis | None]:
    seen = {query: Observation(engine, query, encode(query), vectors) for query in QUERIES}
    found = find_parity(engine, seen, Quiet())
    diagnosis = diagnose(found.verdicts, found.trials)
    return conclude(found.verdicts, diagnosis), found, diagnosis


def at_depth(depth: int, side: str) -> Lie:
    def change(lists: EngineLists, self: FaultyEngine, text: str, vector: Vectors) -> EngineLists:
        listed = self.dense(vector, depth) if side == "dense" else self.keyword(text, depth)
        return lists._replace(**{side: listed})

    return fuse_lists(change)


def forget(lists: EngineLists, self: FaultyEngine, text: str, vector: Vectors) -> EngineLists:
    """As a graph does that misses every fourth text."""
    found = self.dense(vector, 2 * self.depth.dense)
    kept = [one for i, one in enumerate(found) if i % 4 != 1]
    return lists._replace(dense=kept[: self.depth.dense])


def misread(lists: EngineLists, self: FaultyEngine, text: str, vector: Vectors) -> EngineLists:
    """As an analyzer does that takes words apart otherwise."""
    words = " ".join(word[:-1] if len(word) > 4 else word for word in text.split())
    return lists._replace(keyword=self.keyword(words + " self", self.depth.keyword))


LIES: dict[str, tuple[Formula, Lie, str, str]] = {
    "rank origin": (
        RRF, fuse_by(ReciprocalRanks(60, first=0)), "rank origin", "ranks from 0, not 1",
    ),
    "k": (RRF, fuse_by(ReciprocalRanks(2)), "k", "k = 2, not 60"),
    "odd k": (RRF, fuse_by(ReciprocalRanks(37.5)), "k", "k = 37.5, not 60"),
    "k, origin 0": (ReciprocalRanks(2, 0), fuse_by(ReciprocalRanks(60, 0)), "k", "k = 60, not 2"),
    "k by ranks": (
        ReciprocalRanks(61, 0, (3.0, 0.5), "ranks"),
        fuse_by(ReciprocalRanks(2, 0, (3.0, 0.5), "ranks", single=True)),
        "k",
        "k = 2, not 61",
    ),
    "shallow dense": (RRF, at_depth(10, "dense"), "depth", "dense depth 10, not 40"),
    "deep dense": (RRF, at_depth(55, "dense"), "depth", "dense depth 55, not 40"),
    "shallow keyword": (MIN_MAX, at_depth(12, "keyword"), "depth", "keyword depth 12, not 30"),
    "min-max": (RRF, fuse_by(ScaledScores((1, 1))), "normalisation", "min-max"),
    "dbsf": (MIN_MAX, fuse_by(SummedScores("dbsf", (0.7, 0.3))), "normalisation", "dbsf"),
    "z-score": (MIN_MAX, fuse_by(SummedScores("z-score", (0.7, 0.3))), "normalisation", "z-score"),
    "none": (
        DeviationScores(), fuse_by(SummedScores("none")), "normalisation", "scores as they are",
    ),
    "ranks": (MIN_MAX, fuse_by(RRF), "normalisation", "1 / (60 + rank)"),
    "swapped": (
        WEIGHTED, fuse_by(ReciprocalRanks(60, weights=(1.0, 2.0))), "weights", "weights swapped",
    ),
    "unweighted": (WEIGHTED, fuse_by(RRF), "weights", "weights ignored: 1 each"),
    "approximate": (RRF, fuse_lists(forget), "approximate search", "a dense list inside"),
    "approximate min-max": (MIN_MAX, fuse_lists(forget), "approximate search", "a dense list"),
    "analyzer": (RRF, fuse_lists(misread), "analyzer", "a keyword list inside"),
    "analyzer min-max": (MIN_MAX, fuse_lists(misread), "analyzer", "a keyword list inside"),
    "analyzer dbsf": (DeviationScores(), fuse_lists(misread), "analyzer", "a keyword list inside"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_named(standing: Standing, name: str) -> None:
    stated, lie, family, label = LIES[name]
    verdict, found, diagnosis = look(FaultyEngine(standing.engine, lie, stated), standing.vectors)
    assert diagnosis is not None, found
    assert (diagnosis.family, diagnosis.share) == (family, 1.0), found.trials
    assert label in diagnosis.label
    assert verdict == f"explained: {family} ({diagnosis.label})"


def test_an_exact_list_inside_of_an_approximate_engine(standing: Standing, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"exact": False, "m": 2, "ef_construct": 4, "ef": 1}
    engine = QdrantEdgeSettings.model_validate(settings).build(Resources(Cache(tmp_path)))
    vectors = index(engine, list_texts())
    verdict, *_ = look(engine, vectors)
    assert verdict == "identical"

    def exact(lists: EngineLists, self: FaultyEngine, text: str, vector: Vectors) -> EngineLists:
        return lists._replace(dense=standing.engine.dense(vector, self.depth.dense))

    verdict, _, diagnosis = look(FaultyEngine(engine, fuse_lists(exact)), vectors)
    engine.close()
    assert verdict == "explained: approximate search (the dense list of exact search)"
    assert diagnosis is not None
    assert diagnosis.family == "approximate search"


def test_the_engine_itself_does_what_it_says(standing: Standing) -> None:
    verdict, found, diagnosis = look(standing.engine, standing.vectors)
    assert (verdict, found.trials, diagnosis) == ("identical", (), None)


def reverse_ties(scored: list[Scored]) -> list[Scored]:
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
def test_ties_are_told_from_differences(standing: Standing, lie: Lie) -> None:
    verdict, found, _ = look(FaultyEngine(standing.engine, lie), standing.vectors)
    assert verdict == "identical but for ties"
    assert "ties" in found.verdicts.values()


def test_what_nothing_explains_is_different(standing: Standing) -> None:
    def shuffle(self: FaultyEngine, text: str, vector: Vectors) -> list[Scored]:
        fused = self.formula.fuse(*self.lists(text, vector))
        return sorted(((i, score * (1 + i % 7)) for i, score in fused), key=lambda p: -p[1])

    verdict, found, diagnosis = look(FaultyEngine(standing.engine, shuffle), standing.vectors)
    assert verdict == "different"
    assert diagnosis is None, found.trials
