"""The tests of a comparison in their order: the headline measure, the others, types of query."""

from collections.abc import Mapping, Sequence, Set
from itertools import chain

import numpy as np

from assay.eval.runs.summary.summary import Summary
from assay.eval.scoring.calculation import ByQuery
from assay.eval.scoring.measures import choose_headline
from assay.eval.statistics.heterogeneity import compare_groups
from assay.eval.statistics.significance import ALPHA, can_reach
from assay.eval.studies.comparison.differences import (
    AdjustedDifference,
    Contrast,
    Difference,
    Grounds,
    judge_parts,
)


def contrast_measures(base: Summary, other: Summary, tested: Sequence[str]) -> list[Contrast]:
    """Return the contrast of each measure, over all queries."""
    return [Contrast(name, "", base.scores[name], other.scores[name]) for name in tested]


def split_types(summary: Summary, name: str) -> dict[str, ByQuery]:
    """Return the scores of a measure by type of query."""
    scores = summary.scores[name]
    found: dict[str, ByQuery] = {}
    for id_, query in summary.run.queries.items():
        found.setdefault(query.type, {})[id_] = scores[id_]
    return {kind: found[kind] for kind in sorted(found) if kind}


def contrast_types(
    base: Mapping[str, ByQuery], other: Mapping[str, ByQuery], name: str
) -> list[Contrast]:
    """Return the contrast of a measure for each type of query."""
    return [Contrast(name, kind, scores, other[kind]) for kind, scores in base.items()]


def judge_stages(
    contrasts: Sequence[Sequence[Contrast]],
    effect: float,
    apart: Sequence[str],
    grounds: Grounds | None = None,
) -> list[list[AdjustedDifference]]:
    """Return the differences of each pair in every measure, in their order.

    The headline measure is tested first, over all pairs. The other measures are a family that is
    tested only for pairs whose headline is shown to differ. Measures in `apart` are a family of
    their own, tested for all pairs. `grounds` are those of `judge_parts`.
    """
    headline = choose_headline(item.measure for item in contrasts[0] if item.measure not in apart)
    first = judge_parts(_choose(contrasts, {headline}), effect, grounds=grounds)
    gates = [item.difference.adjusted or 0.0 for (item,) in first]
    others = {item.measure for item in contrasts[0]} - {headline, *apart}
    second = judge_parts(_choose(contrasts, others), effect, gates, grounds)
    own = judge_parts(_choose(contrasts, set(apart)), effect, grounds=grounds)
    found = []
    for pair, (leading,), *rest in zip(contrasts, first, second, own, strict=True):
        judged = {item.difference.measure: item for item in chain([leading], *rest)}
        for item in rest[0]:
            if item.alone is not None and leading.alone is not None:
                alone = max(item.alone, leading.alone)
                judged[item.difference.measure] = AdjustedDifference(item.difference, alone)
        found.append([judged[item.measure] for item in pair])
    return found


def judge_types(
    contrasts: Sequence[Sequence[Contrast]],
    effect: float,
    headlines: Sequence[float],
    grounds: Grounds | None = None,
) -> tuple[list[list[Difference]], list[float | None]]:
    """Return the differences of each pair by type of query, and p-values that its types differ.

    `headlines` are the p-values of the pairs' headline measure over all queries. Types are one
    family, tested for pairs whose headline is shown to differ, and for pairs whose types differ
    from one another. The p-value of the latter is adjusted for all pairs; None with fewer than two
    types, or too few queries. `grounds` are those of `judge_parts`.
    """
    unlike = _compare_types(contrasts, grounds)
    gates = [
        min(headline, 1.0 if p is None else p)
        for headline, p in zip(headlines, unlike, strict=True)
    ]
    judged = judge_parts(contrasts, effect, gates, grounds)
    return [[item.difference for item in part] for part in judged], unlike


def _compare_types(
    contrasts: Sequence[Sequence[Contrast]], grounds: Grounds | None
) -> list[float | None]:
    sizes = [len(item.differences) for item in contrasts[0]]
    queries = [query for item in contrasts[0] for query in item.before]
    numbers = grounds.sampling.number(queries) if grounds else None
    independent = sum(sizes) if numbers is None else len(np.unique(numbers))
    if len(sizes) < 2 or not can_reach(ALPHA, independent):
        return [None] * len(contrasts)
    columns = [np.concatenate([item.differences for item in pair]) for pair in contrasts]
    types = np.repeat(np.arange(len(sizes)), sizes)
    share = grounds.sampling.share if grounds else 0.0
    return list(compare_groups(np.array(columns).T, types, numbers, share))


def _choose(contrasts: Sequence[Sequence[Contrast]], measures: Set[str]) -> list[list[Contrast]]:
    return [[item for item in pair if item.measure in measures] for pair in contrasts]
