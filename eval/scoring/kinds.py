"""The measures of rankings, a class each."""

import math
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from assay.eval.collections.collection import GoldItem
from assay.eval.scoring import calculation
from assay.eval.scoring.characters import count_characters
from assay.eval.scoring.grid import Floats, Grid, add_up, divide
from assay.eval.scoring.join import JoinedHit
from assay.eval.scoring.measure import ANY, COUNT, SHARE, Measure
from assay.eval.scoring.own import OwnMeasure
from assay.eval.scoring.standard import Scorer, TrecMeasure
from assay.retrievers.base import AssayError


class Hit(TrecMeasure):
    standard = "Success"
    meaning = "queries with a relevant passage in {first}"
    bounds = "rising"

    def score_columns(self, grid: Grid) -> Floats:
        return np.asarray(grid.places[:, : self.cutoff].any(axis=1), float)


class MRR(TrecMeasure):
    standard = "RR"
    meaning = "1 / rank of the first relevant passage, 0 beyond {k}"
    bounds = "rising"

    def score_columns(self, grid: Grid) -> Floats:
        relevant = grid.places[:, : self.cutoff] > 0
        if not relevant.shape[1]:
            return np.zeros(len(grid.queries))
        return divide(np.asarray(relevant.any(axis=1)), relevant.argmax(axis=1) + 1)


class NDCG(TrecMeasure):
    name = "nDCG"
    meaning = (
        "graded relevance of {first}, all gold items of a hit counted, against the ideal order"
    )
    bounds = "nDCG"
    citation = (
        "Järvelin and Kekäläinen, TOIS 2002; with dcg='exp-log2', as gdeval computes it, "
        'Burges et al., "Learning to Rank using Gradient Descent", ICML 2005'
    )

    def find_scorer(self) -> Scorer | None:
        if self.options.get("dcg") != "exp-log2":
            return None
        return partial(calculation.exponential_ndcg, repr(self.parsed(dcg="log2")))

    def check(self, name: str) -> bool:
        if self.find_scorer() and "gains" in self.options:
            raise AssayError(f"measures: {name}: dcg='exp-log2' and gains: give one of them")
        return super().check(name)

    def score_columns(self, grid: Grid) -> Floats:
        gains, ideal = (
            add_up(grades / [math.log2(place + 2) for place in range(grades.shape[1])])
            for grades in (grid.places[:, : self.cutoff], grid.ideal[:, : self.cutoff])
        )
        return divide(gains, ideal)


class HitNDCG(TrecMeasure):
    name = "hit_nDCG"
    meaning = "graded relevance of {first}, each counted once, against the ideal order"
    forms = ("@k",)
    of_hits = True

    def find_scorer(self) -> Scorer:
        return partial(calculation.compute_alone, f"nDCG@{self.cutoff}")


class Recall(OwnMeasure):
    standard = "R"
    meaning = "gold items found in {first}"
    within = SHARE
    bounds = "rising"
    forms = ("@ktok",)

    def score_columns(self, grid: Grid) -> Floats:
        counted = grid.counts * grid.mark(grid.limit(self.cutoff, self.budget))
        return divide(counted.sum(axis=1), grid.relevant)

    def score(self, ranking: Sequence[JoinedHit], gold: Sequence[GoldItem]) -> float:
        least = int(self.options.get("rel", 1))
        relevant = sum(item.grade >= least for item in gold)
        found = sum(item.grade >= least for hit in ranking for item in hit.found)
        return found / relevant if relevant else 0.0


class CondensedRecall(TrecMeasure):
    """Recall with ir-measures' option `judged_only`."""

    name, standard, meaning = Recall.name, Recall.standard, Recall.meaning


class P(TrecMeasure):
    meaning = "gold items in {first} hits, one a rank"
    bounds = "rising"

    def score_columns(self, grid: Grid) -> Floats:
        found = np.count_nonzero(grid.places[:, : self.cutoff], axis=1)
        return divide(found, np.array(self.cutoff))


class AP(TrecMeasure):
    meaning = "mean of the precisions at the gold items of {first}"
    bounds = "AP"

    def score_columns(self, grid: Grid) -> Floats:
        relevant = grid.places[:, : self.cutoff] > 0
        ranks = np.arange(1, relevant.shape[1] + 1)
        return divide(add_up(np.cumsum(relevant, axis=1) / ranks * relevant), grid.relevant)


class ERR(TrecMeasure):
    meaning = "1 / rank where a reader of {first} is expected to stop, satisfied"
    citation = 'Chapelle et al., "Expected Reciprocal Rank for Graded Relevance", CIKM 2009'

    def find_scorer(self) -> Scorer:
        return partial(calculation.expected_reciprocal_rank, self.cutoff)


class Judged(TrecMeasure):
    meaning = "judged among {first}"
    direction = "neither"
    of_hits = True

    def score_columns(self, grid: Grid) -> Floats:
        limits = grid.limit(self.cutoff)
        return divide(np.count_nonzero(grid.judged & grid.mark(limits), axis=1), limits)


class Tokens(OwnMeasure):
    meaning = "tokens in {first} passages"
    direction = "neither"
    digits = 0
    within = COUNT
    forms = ("@k",)

    def score(self, ranking: Sequence[JoinedHit], gold: Sequence[GoldItem]) -> float:
        return sum(calculation.count_tokens(hit.chunk) for hit in ranking)

    def score_columns(self, grid: Grid) -> Floats:
        return np.asarray(grid.sum_tokens(self.cutoff), float)


class Unwanted(OwnMeasure):
    meaning = "hits among {first} whose documents must not be returned"
    direction = "lower"
    within = SHARE
    forms = ("@k",)

    def score(self, ranking: Sequence[JoinedHit], gold: Sequence[GoldItem]) -> float:
        return sum(hit.unwanted for hit in ranking) / len(ranking) if ranking else 0.0


class CharRecall(OwnMeasure):
    meaning = "characters of the gold items that {first} hold"
    citation = 'Smith and Troynikov, "Evaluating chunking strategies for retrieval", 2024'
    within = SHARE
    forms = ("@k",)

    def score(self, ranking: Sequence[JoinedHit], gold: Sequence[GoldItem]) -> float:
        counted = count_characters(ranking, gold)
        return counted.shared / counted.relevant if counted.relevant else 0.0


class CharPrecision(OwnMeasure):
    meaning = "characters of {first} that belong to gold items"
    citation = CharRecall.citation
    within = SHARE
    forms = ("@k",)

    def score(self, ranking: Sequence[JoinedHit], gold: Sequence[GoldItem]) -> float:
        counted = count_characters(ranking, gold)
        return counted.shared / counted.returned if counted.returned else 0.0


class CharIoU(OwnMeasure):
    meaning = "characters that {first} and the gold items share, of all that either holds"
    citation = CharRecall.citation
    within = SHARE
    forms = ("@k",)

    def score(self, ranking: Sequence[JoinedHit], gold: Sequence[GoldItem]) -> float:
        counted = count_characters(ranking, gold)
        either = counted.returned + counted.relevant - counted.shared
        return counted.shared / either if either else 0.0


class NumRet(TrecMeasure):
    meaning = "hits"
    within = COUNT
    of_hits = True


class NumRel(TrecMeasure):
    meaning = "relevant passages there are"
    direction = "neither"
    within = COUNT

    def score_columns(self, grid: Grid) -> Floats:
        return np.asarray(grid.relevant, float)


class NumQ(TrecMeasure):
    meaning = "queries"
    direction = "neither"
    within = COUNT


class Empty(OwnMeasure):
    meaning = "queries for which nothing is returned"
    within = SHARE
    forms = ("",)

    def score(self, ranking: Sequence[JoinedHit], gold: Sequence[GoldItem]) -> float:
        return not ranking


# Of these ir-measures says all but what a score counts.
PLAIN = {
    "Rprec": "relevant among as many hits as there are relevant passages",
    "IPrec": "highest precision from the rank on that reaches a share of the recall",
    "Bpref": "relevant passages above those judged not relevant",
    "infAP": "AP, inferred from a sample of judgments",
    "Compat": "overlap with the ideal order, the first ranks weighing most",
    "SetP": "relevant among all hits",
    "SetR": "relevant passages found among all hits",
    "SetF": "harmonic mean of SetP and SetR",
    "SetAP": "SetP times SetR",
}
LISTED: tuple[type[Measure], ...] = (
    Hit, MRR, NDCG, HitNDCG, CondensedRecall, Recall, P, AP, ERR, Judged, Tokens, Unwanted,
    CharRecall, CharPrecision, CharIoU, NumRet, NumRel, NumQ, Empty,
    *(type(name, (TrecMeasure,), {"meaning": told}) for name, told in PLAIN.items()),
)  # fmt: skip
KINDS = {kind.name: kind for kind in LISTED}
# The names under which ir-measures' are shown, where people say another.
SHOWN = {kind.standard: kind.name for kind in LISTED if kind.standard}
STEM = re.compile(rf"^({'|'.join(SHOWN)})(?=[@(]|$)")


def show_name(standard: str) -> str:
    """Return the name under which the measure is shown that ir-measures calls `standard`.

    A name that is shown already, or no measure's, is returned as it is.

    >>> show_name("Success(rel=2)@5"), show_name("R@2000tok"), show_name("MRR@10")
    ('Hit(rel=2)@5', 'Recall@2000tok', 'MRR@10')
    """
    return STEM.sub(lambda match: SHOWN[match[1]], standard)


def choose(parsed: Any) -> type[Measure]:
    """Return the class of a measure that ir-measures has parsed."""
    if parsed.NAME == "R" and "judged_only" in parsed.params:
        return CondensedRecall
    kind = KINDS.get(show_name(parsed.NAME))
    return kind or type(parsed.NAME, (TrecMeasure,), {"within": ANY})
