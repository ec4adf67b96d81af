"""What fusions of the same two lists are worth: against ours, and against the better list alone."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from assay.eval.scoring.calculation import Scores
from assay.eval.statistics.estimates import Estimate, estimate_mean
from assay.eval.studies.comparison.differences import Contrast, Difference, judge_family
from assay.eval.studies.stores.parity.quality import DENSE, HYBRID, KEYWORD, NATIVE, OURS, SYSTEMS

MEASURE = "nDCG@10"  # what fusions are compared by
BETTER = "better"  # the list of the two that scores higher on these queries
BASES = (HYBRID, OURS, BETTER)


@dataclass(frozen=True)
class FusionScores:
    """A fusion to be judged: who offers it, its formula, and the scores of each of SYSTEMS.

    `note` is the verdict on the formula where the engine was asked, empty where it was not.
    """

    labels: tuple[str, ...]
    formula: str
    note: str
    scores: Mapping[str, Scores]


@dataclass(frozen=True)
class FusionRow:
    """One fusion of two lists. `means` are by system and measure, `native` being this fusion.

    `against` has by each of BASES how far its nDCG@10 is above, paired by query.
    """

    labels: tuple[str, ...]
    formula: str
    note: str
    means: Mapping[str, Mapping[str, Estimate]]
    against: Mapping[str, Difference]


@dataclass(frozen=True)
class FusionTable:
    """All fusions on one collection: of the two lists of `hybrid`, and of each engine's own."""

    collection: str
    queries: int
    sampled: bool
    passages: int
    encoder: str
    shared: tuple[FusionRow, ...]
    own: tuple[FusionRow, ...]


@dataclass(frozen=True)
class Fusions:
    """The fusions that engines offer, on some collections, and the engines not asked, and why."""

    created: str
    command: str
    tables: tuple[FusionTable, ...]
    absent: Mapping[str, str]
    environment: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return asdict(self)


def compare_fusions(fusings: Sequence[FusionScores]) -> tuple[FusionRow, ...]:
    """Judge fusions together: the p-values are adjusted for all of them and all of BASES.

    The better list is the one of the higher mean on the very queries, which favours it.
    """
    contrasts = [
        Contrast(MEASURE, "", scores[MEASURE], fusing.scores[NATIVE][MEASURE])
        for fusing in fusings
        for scores in _list_bases(fusing)
    ]
    judged = iter(judge_family(contrasts))
    return tuple(
        FusionRow(
            labels=fusing.labels,
            formula=fusing.formula,
            note=fusing.note,
            means={
                system: {
                    measure: estimate_mean(list(values.values()))
                    for measure, values in fusing.scores[system].items()
                }
                for system in SYSTEMS
            },
            against={base: next(judged) for base in BASES},
        )
        for fusing in fusings
    )


def _list_bases(fusing: FusionScores) -> tuple[Scores, ...]:
    """Return the scores of BASES, in their order."""
    means = {name: sum(fusing.scores[name][MEASURE].values()) for name in (DENSE, KEYWORD)}
    better = fusing.scores[max(means, key=lambda name: means[name])]
    return fusing.scores[HYBRID], fusing.scores[OURS], better
