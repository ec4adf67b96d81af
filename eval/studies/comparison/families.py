"""What differences of a comparison are made of, and which are judged together, as one family."""

from collections.abc import Sequence

from assay.eval.runs.summary.summary import Summary
from assay.eval.scoring.measures import choose_headline
from assay.eval.studies.comparison.differences import AdjustedDifference, Contrast, judge_parts


def contrast_measures(base: Summary, other: Summary, tested: Sequence[str]) -> list[Contrast]:
    """Return the contrast of each measure, over all queries."""
    return [Contrast(name, "", base.scores[name], other.scores[name]) for name in tested]


def contrast_types(base: Summary, other: Summary, tested: Sequence[str]) -> list[Contrast]:
    """Return the headline's contrast of each type of query."""
    name = choose_headline(tested)
    queries = base.run.queries
    groups = {
        kind: [id_ for id_ in queries if queries[id_].type == kind]
        for kind in sorted({query.type for query in queries.values()} - {""})
    }
    scores = (base.scores[name], other.scores[name])
    return [
        Contrast(name, kind, *({id_: found[id_] for id_ in ids} for found in scores))
        for kind, ids in groups.items()
    ]


def judge_apart(
    contrasts: Sequence[Sequence[Contrast]], effect: float, apart: Sequence[str]
) -> list[tuple[AdjustedDifference, ...]]:
    """Return the differences of each pair, those of measures that are `apart` as a family last."""
    parts = [_part(pair, apart) for pair in contrasts]
    judged = (judge_parts([pair[i] for pair in parts], effect) for i in (0, 1))
    return [(*others, *own) for others, own in zip(*judged, strict=True)]


def _part(contrasts: Sequence[Contrast], apart: Sequence[str]) -> tuple[list[Contrast], ...]:
    """Return the contrasts of the other measures, and those of the ones `apart`."""
    others = [item for item in contrasts if item.measure not in apart]
    return others, [item for item in contrasts if item.measure in apart]
