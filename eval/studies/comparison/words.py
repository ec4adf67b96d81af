"""Sentences on a pair and on several runs, in plain words."""

from collections.abc import Iterable, Sequence
from string import ascii_lowercase

from assay.eval.report.formats import count, enumerate_words, score, signed
from assay.eval.runs.summary.claims import Claims
from assay.eval.statistics.significance import ALPHA
from assay.eval.studies.comparison.differences import Difference
from assay.eval.studies.comparison.pair import Pair

MOST_LINES = 3  # pairs or collections that are named
MOST_TYPES, MOST_NAMED = 6, 6  # types, and runs, that a sentence names
FRAGILE = "A few other questions could reverse this."


def tell_pair(pair: Pair, names: tuple[str, str], effect: float, claims: Claims) -> str:
    """Return the verdict on a run against the base in a few sentences, with the claim it is of.

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
        told += f" {conclude_opposite(pair.opposite, names, claims)}"
    types = describe_types(headline, pair.by_type, pair.types_differ)
    return f"{told} But {types}" if types else told


def _tell_weakness(claims: Claims) -> str:
    """Return a sentence on the weak basis of a claim on other documents; "" if it is not weak."""
    weak = claims.leading == "documents" and claims.strength == "weak"
    return f" {claims.describe_weakness()}" if weak else ""


def tell_change(item: Difference) -> str:
    """Return a difference and its likely range."""
    low, high = (_negative(end) for end in (item.interval.low, item.interval.high))
    change = signed(item.difference.value)
    told = change if change.startswith(("+", "−")) else "no difference"
    return f"{told}, likely between {low} and {high}"


def conclude_opposite(opposite: Difference, names: tuple[str, str], claims: Claims) -> str:
    """Return a sentence with the verdict of the other claim, which differs."""
    base, other = names
    where = claims.name(claims.other)
    where = f"{where[0].upper()}{where[1:]}"
    if opposite.shown:
        return f"{where} {other} is {opposite.verdict} than {base}."
    return f"{where} that is not shown."


def name_opposite(claims: Claims, listed: str) -> str:
    """Return a sentence that the verdicts of the `listed` pairs differ by the other claim."""
    if claims.leading == "documents":
        where = claims.name("questions")
        return f"{where[0].upper()}{where[1:]}, {listed} are shown to differ."
    return f"{claims.name('documents').capitalize()}, {listed} are not shown to differ."


def describe_types(
    headline: Difference,
    by_type: Sequence[Difference],
    types_differ: float | None,
) -> str:
    """Return a clause if types of query contradict the verdict over all queries; "" if not."""
    shown = [item for item in by_type if item.shown]
    if len({item.verdict for item in shown}) > 1:
        return f"types of query differ in opposite directions: {_list(shown)}."
    if against := [item for item in shown if item.verdict != headline.verdict]:
        return f"by type of query a difference is shown: {_list(against)}."
    if not headline.shown and types_differ is not None and types_differ <= ALPHA:
        ordered = sorted(by_type, key=lambda item: item.difference.value)
        return (
            "types of query differ from one another, from "
            f"{_list(ordered[:1])} to {_list(ordered[-1:])}."
        )
    return ""


def tell_ranking(
    labels: Sequence[str], against_best: Sequence[Difference], shown: int, claims: Claims
) -> str:
    """Return a few sentences on the best of several runs, with the claim they are of.

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


def tell_alone(pairs: Sequence[str], runs: int) -> str:
    """Return a sentence on the pairs that would differ if compared alone; "" for none."""
    if not pairs:
        return ""
    return (
        f"Compared alone, {name_pairs(pairs)} would differ: two need less evidence than {runs} at "
        "once."
    )


def name_pairs(pairs: Sequence[str]) -> str:
    """Return some pairs, "A and B", in words: the first three, and the number of others."""
    more = len(pairs) - MOST_LINES
    return ", ".join(pairs[:MOST_LINES]) + (f" and {count(more, 'more pair')}" * (more > 0))


def group_runs(runs: int, differ: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    """Return the letters of the groups of each run: a compact letter display.

    Two runs share a letter exactly if they are not in `differ`, the pairs of places that are shown
    to differ (insert and absorb: Piepho, "An algorithm for a letter-based representation of
    all-pairwise comparisons", Journal of Computational and Graphical Statistics 2004).

    >>> group_runs(3, [(0, 2)])
    ('a', 'ab', 'b')
    """
    groups = [frozenset(range(runs))]
    for one, two in differ:
        parted = [group for group in groups if not {one, two} <= group]
        for group in groups:
            if {one, two} <= group:
                parted += [group - {one}, group - {two}]
        whole = dict.fromkeys(parted)
        groups = [group for group in whole if not any(group < other for other in whole)]
    ordered = sorted(groups, key=sorted)
    return tuple(
        "".join(_name_group(i) for i, group in enumerate(ordered) if run in group)
        for run in range(runs)
    )


def enumerate_names(names: Sequence[str]) -> str:
    """Return the names of runs in words, or their number if there are many."""
    if len(names) > MOST_NAMED:
        return f"{len(names)} of them"
    return enumerate_words(names)


def _list(items: Sequence[Difference]) -> str:
    """Return the types with the largest differences, from the most negative on."""
    largest = sorted(items, key=lambda item: -abs(item.difference.value))[:MOST_TYPES]
    ordered = sorted(largest, key=lambda item: item.difference.value)
    named = ", ".join(f"{item.type} {signed(item.difference.value)}" for item in ordered)
    return named + (f" and {len(items) - MOST_TYPES} more" if len(items) > MOST_TYPES else "")


def _negative(value: float) -> str:
    """Return a number with a sign only if it is negative."""
    return signed(value).removeprefix("+")


def _name_group(i: int) -> str:
    """Return the letter of a group: a to z, then A to Z, then with a number."""
    letters = ascii_lowercase + ascii_lowercase.upper()
    return letters[i] if i < len(letters) else f"({i + 1})"
