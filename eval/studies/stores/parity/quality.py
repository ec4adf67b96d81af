"""What an engine's own fusion is worth beside ours of the same two lists, and beside each list."""

from collections.abc import Mapping

from assay.eval.runs.summary.claims import Claims
from assay.eval.scoring.calculation import Scores
from assay.eval.studies.comparison.differences import Contrast, Difference, judge_family

DENSE, KEYWORD, NATIVE, OURS = "dense", "keyword", "native", "ours"
HYBRID = "hybrid"  # what the config of that name makes of the same two lists
MEASURES = ("nDCG@10", "Recall@20", "Hit@3")
MEASURE = MEASURES[0]  # what the native fusion is compared by with each of BASES
BETTER = "better"  # the list of the two that scores higher on these queries
BASES = (HYBRID, OURS, BETTER)


def compare_measures(scores: Mapping[str, Scores], claims: Claims) -> list[Difference]:
    """Return by how much the native fusion is above ours in each of MEASURES."""
    contrasts = [Contrast(name, "", scores[OURS][name], scores[NATIVE][name]) for name in MEASURES]
    return judge_family(contrasts, claims=claims)


def compare_bases(scores: Mapping[str, Scores], claims: Claims) -> dict[str, Difference]:
    """Return by each of BASES how far the native fusion is above.

    The better list is the one of the higher mean on the very queries, which favours it.
    """
    means = {name: sum(scores[name][MEASURE].values()) for name in (DENSE, KEYWORD)}
    better = max(means, key=lambda name: means[name])
    contrasts = [
        Contrast(MEASURE, "", scores[base][MEASURE], scores[NATIVE][MEASURE])
        for base in (HYBRID, OURS, better)
    ]
    return dict(zip(BASES, judge_family(contrasts, claims=claims), strict=True))
