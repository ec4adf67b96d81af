"""Ties at the cut of an answer: another text that is as good is no difference, in any formula."""

from dataclasses import replace

import numpy as np
import pytest

from assay.eval.studies.stores.parity.running import judge
from assay.retrievers.base import IndexReport
from assay.retrievers.engines.base import Engine, EngineLists, LegDepths
from assay.retrievers.engines.formulas import (
    DistanceAndScore,
    Formula,
    Head,
    ReciprocalRanks,
    sum_deviations,
    sum_scaled,
)
from assay.retrievers.engines.parity.parity import Observation
from assay.retrievers.engines.registry import ENGINES
from assay.retrievers.engines.stores.azure_cosmos_nosql import UnitedRanks
from assay.retrievers.engines.stores.elasticsearch import sum_linear
from assay.retrievers.engines.stores.milvus import sum_arctangents
from assay.retrievers.engines.stores.mongodb import average_scores
from assay.retrievers.engines.stores.opensearch_fusion import NormalisedScores
from assay.retrievers.engines.stores.redis import sum_weighted

FORMULAS = {
    "ranks": ReciprocalRanks(60),
    "ranks from 0, in 32 bits": ReciprocalRanks(61, 0, single=True),
    "ranks by weight": ReciprocalRanks(60, weights=(0.7, 0.3), rounded=True),
    "weighed ranks": ReciprocalRanks(60, weights=(3.0, 0.5), weigh="ranks"),
    "scaled": sum_scaled((0.7, 0.3)),
    "scaled, equal": sum_scaled(),
    "deviations": sum_deviations(),
    "arctangent": sum_arctangents((1.0, 1.0)),
    "distance": DistanceAndScore(),
    "normalised": NormalisedScores("min_max", "arithmetic_mean", (0.5, 0.5)),
    "l2, harmonic": NormalisedScores("l2", "harmonic_mean", (0.7, 0.3)),
    "linear": sum_linear((0.7, 0.3)),
    "shared ranks": ReciprocalRanks(k=60, weights=(0.7, 0.3), shared=True),
    "mean": average_scores("none", (0.5, 0.5)),
    "mean, sigmoid": average_scores("sigmoid", (0.7, 0.3)),
    "mean, scaled": average_scores("minMaxScaler", (0.5, 0.5)),
    "united ranks": UnitedRanks(60, (0.7, 0.3)),
    "weighted scores": sum_weighted((0.7, 0.3)),
    "z": NormalisedScores("z_score", "arithmetic_mean", (0.5, 0.5)),
}
# Both lists have texts 1 and 2 side by side, with equal scores.
TWINS = EngineLists(
    [(0, 0.9), (1, 0.7), (2, 0.7), (3, 0.4), (4, 0.2)],
    [(0, 8.0), (5, 6.0), (1, 4.0), (2, 4.0), (6, 1.0)],
)
TEXTS = 7


class Recorded(Engine):
    """An engine that answers what it is told to."""

    def __init__(self, formula, lists, answer):
        self.depth = LegDepths(dense=100, keyword=100)
        self._formula, self._lists, self._answer = formula, lists, answer

    @property
    def formula(self):
        return self._formula

    def index(self, texts, vectors, identity):
        return IndexReport(len(texts))

    def dense(self, vector, limit):
        return self._lists.dense[:limit]

    def keyword(self, text, limit):
        return self._lists.keyword[:limit]

    def hybrid(self, text, vector, limit):
        return list(self._answer[:limit])

    def close(self): ...


def give_verdict(formula, lists, answer):
    """Return the verdict on one answer of an engine that states `formula`."""
    texts = {position for side in lists for position, _ in side}
    vector = np.ones(1, np.float32)
    seen = Observation(Recorded(formula, lists, answer), "ferry", vector, len(texts))
    return judge({"query": seen})["query"]


def list_classes(base):
    for each in base.__subclasses__():
        yield each
        yield from list_classes(each)


def test_every_formula_is_looked_at():
    assert ENGINES.types  # the formulas of all engines are there
    classes = list_classes(Formula)
    stated = {each.__name__ for each in classes if each.__module__.startswith("assay.")}
    assert stated == {type(formula).__name__ for formula in FORMULAS.values()} | {"Head", "OneList"}


@pytest.mark.parametrize("name", [i for i, each in FORMULAS.items() if hasattr(each, "weights")])
@pytest.mark.parametrize("side", [0, 1])
def test_a_list_of_weight_0_adds_no_text(name, side):
    formula = FORMULAS[name]
    weights = (1.0, 0.0) if side == 0 else (0.0, 1.0)
    own = {"weight": weights[0]} if isinstance(formula, DistanceAndScore) else {"weights": weights}
    only = replace(formula, **own)
    assert {i for i, _ in only.fuse(*TWINS)} == {i for i, _ in TWINS[side]}
    assert Head(only, 3).fuse(*TWINS) == only.fuse(*TWINS)[:3]


@pytest.mark.parametrize("name", FORMULAS)
def test_equal_texts_at_the_cut_are_a_tie(name):
    whole = FORMULAS[name]
    fused = whole.fuse(*TWINS)
    other = [({1: 2, 2: 1}.get(i, i), score) for i, score in fused]
    cut = [i for i, _ in fused].index(1) + 1
    assert fused[cut][0] == 2
    assert give_verdict(whole, TWINS, fused) == "identical"
    assert give_verdict(whole, TWINS, other) == "ties"
    formula = Head(whole, cut)
    assert give_verdict(formula, TWINS, fused[:cut]) == "identical"
    assert give_verdict(formula, TWINS, other[:cut]) == "ties"
    worst, least = fused[-1][0], fused[cut - 1][1]
    for wrong in ([*fused[: cut - 1], (worst, least)], fused[: cut - 1], fused[: cut + 1]):
        assert give_verdict(formula, TWINS, wrong) == "different"


@pytest.mark.parametrize(
    "name", ["ranks", "ranks from 0, in 32 bits", "scaled, equal", "deviations"]
)
def test_texts_of_one_list_each_compete_for_the_hundredth_place(name):
    whole = FORMULAS[name]
    scores = [1 - rank / 128 for rank in range(100)]
    places = list(range(100)), [0, 1, 2, *range(103, 200)]
    lists = EngineLists(*(list(zip(side, scores, strict=True)) for side in places))
    fused = whole.fuse(*lists)
    assert fused[99][1] == fused[100][1]
    assert {fused[99][0], fused[100][0]} == {51, 151}
    assert give_verdict(Head(whole, 100), lists, [*fused[:99], fused[100]]) == "ties"
