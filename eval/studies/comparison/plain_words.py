"""What a comparison shows, in plain words; `conclusion` and `ranking` have the exact ones."""

from collections.abc import Sequence

from assay.eval.report.formats import count, score, signed
from assay.eval.runs.summary.claims import Claims
from assay.eval.studies.comparison.conclusion import (
    Judged,
    conclude_opposite,
    describe_types,
    enumerate_names,
)
from assay.eval.studies.comparison.differences import Difference

FRAGILE = "A few other questions could reverse this."


def tell_pair(pair: Judged, names: tuple[str, str], effect: float, claims: Claims) -> str:
    """Return in a few sentences whether a run is better than the base, and for what.

    `names` are those of the base and of the run; `effect` is the difference that would matter.
    """
    base, other = names
    headline, where = pair.headline, claims.name(claims.leading)
    figures = (
        f"{headline.measure} {score(headline.other)} against {score(headline.base)}, "
        f"{tell_change(headline)}."
    )
    if headline.shown:
        sure = "probably " if headline.presumes_symmetry else ""
        told = f"{other} is {sure}{headline.verdict} than {base} {where}: {figures}"
        if sure:
            told += f" {FRAGILE}"
        told += _tell_weakness(claims)
    elif headline.verdict == "no difference shown":
        told = (
            f"No proven difference between {other} and {base} {where}: {figures} One of {effect:g} "
            "would most likely have been found."
        )
    else:
        told = (
            f"{other} and {base} could be equally good {where}: {figures} {headline.n:,} questions "
            "are too few to tell."
        )
    if pair.opposite.shown != headline.shown:
        told += f" {conclude_opposite(pair.opposite, names, claims, exact=False)}"
    types = describe_types(headline, pair.by_type, pair.types_differ, exact=False)
    return f"{told} But {types}" if types else told


def _tell_weakness(claims: Claims) -> str:
    """Return how little a finding on other documents rests on, "" where it decides."""
    weak = claims.leading == "documents" and claims.strength == "weak"
    return f" {claims.describe_weakness()}" if weak else ""


def tell_change(item: Difference) -> str:
    """Return a difference and between what it most likely lies."""
    low, high = (_negative(end) for end in (item.interval.low, item.interval.high))
    return f"{signed(item.difference.value)}, likely between {low} and {high}"


def tell_ranking(
    labels: Sequence[str], against_best: Sequence[Difference], shown: int, claims: Claims
) -> str:
    """Return in a few sentences which of several runs is best, and for what.

    `labels` are best first, `against_best` the headline's differences of the others from the best,
    in the same order; `shown` is the number of pairs that are shown to differ.
    """
    best, runs, where = labels[0], len(labels), claims.name(claims.leading)
    measure, top = against_best[0].measure, score(against_best[0].base)
    if not shown:
        few = any(item.verdict == "not shown (too few queries)" for item in against_best)
        told = f"All {runs} could be equally good" if few else "No proven difference between them"
        told = f"{told} {where}"
        last = score(against_best[-1].other)
        if last == top:
            return f"{told}: {measure} is {top} for each."
        return f"{told}: {measure} is from {last} ({labels[-1]}) to {top} ({best})."
    beaten = {name: i for name, i in zip(labels[1:], against_best, strict=True) if i.shown}
    fragile = [name for name, item in beaten.items() if item.presumes_symmetry]
    if len(beaten) == runs - 1:
        told = (
            f"{best} is the best of {runs} {where}: {measure} is {top}; {labels[1]}, the next, has "
            f"{score(against_best[0].other)} ({tell_change(against_best[0])})."
        )
    else:
        rivals = enumerate_names([name for name in labels[1:] if name not in beaten])
        told = f"{best} comes first of {runs} {where}, with {measure} {top}. "
        if beaten:
            told += f"It is better than {enumerate_names(list(beaten))}; "
        told += f"{'n' if beaten else 'N'}o proven difference from {rivals}."
    if fragile:
        told += f" A few other questions could reverse its lead over {enumerate_names(fragile)}."
    return told + _tell_weakness(claims)


def tell_alone(pairs: Sequence[str], runs: int, most: int) -> str:
    """Return which of the pairs, "A and B", would differ if only they were compared; "" for none.

    `most` of them are named.
    """
    if not pairs:
        return ""
    more = f" and {count(len(pairs) - most, 'more pair')}" if len(pairs) > most else ""
    return (
        f"Compared alone, {', '.join(pairs[:most])}{more} would differ: two need less evidence "
        f"than {runs} at once."
    )


def _negative(value: float) -> str:
    """Return a number with the sign of one below zero."""
    return signed(value).removeprefix("+")
