"""Which differences of a comparison are judged together, as one family."""

from collections.abc import Sequence
from itertools import islice

from eval.analysis.differences import Contrast, Difference, adjust_family, judge_family


def judge_pairs(
    contrasts: Sequence[Sequence[Contrast]], effect: float
) -> list[tuple[Difference, ...]]:
    """Return the differences of each pair, all of them judged as one family."""
    judged = iter(judge_family([item for pair in contrasts for item in pair], effect))
    return [tuple(islice(judged, len(pair))) for pair in contrasts]


def judge_apart(
    contrasts: Sequence[Sequence[Contrast]], effect: float, apart: Sequence[str]
) -> list[tuple[Difference, ...]]:
    """Return the differences of each pair, those of measures that are `apart` as a family last."""
    parts = [_part(pair, apart) for pair in contrasts]
    judged = (judge_pairs([pair[at] for pair in parts], effect) for at in (0, 1))
    return [(*others, *own) for others, own in zip(*judged, strict=True)]


def adjust_alone(contrasts: Sequence[Contrast], apart: Sequence[str]) -> dict[str, float]:
    """Return the p-values by measure, adjusted as if this pair were the only one."""
    found = (
        pair
        for family in _part(contrasts, apart)
        for pair in zip(family, adjust_family(family), strict=True)
    )
    return {item.measure: pair[1] for item, pair in found if pair}


def _part(contrasts: Sequence[Contrast], apart: Sequence[str]) -> tuple[list[Contrast], ...]:
    """Return the contrasts of the other measures, and those of the ones `apart`."""
    others = [item for item in contrasts if item.measure not in apart]
    return others, [item for item in contrasts if item.measure in apart]
