"""The order of runs of which all pairs are compared, and which of them are shown to differ."""

from collections.abc import Iterable, Sequence
from string import ascii_lowercase

from assay.eval.report.formats import score, signed
from assay.eval.runs.summary.claims import Claims
from assay.eval.studies.comparison.conclusion import describe_evidence, enumerate_names
from assay.eval.studies.comparison.differences import Difference


def group_runs(runs: int, differ: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    """Return for each of so many runs the letters of its groups: a compact letter display.

    Two runs share a letter exactly where they are not in `differ`, the pairs of places that are
    shown to differ (insert and absorb: Piepho, "An algorithm for a letter-based representation of
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


def conclude_ranking(
    labels: Sequence[str], against_best: Sequence[Difference], shown: int, claims: Claims
) -> str:
    """Return in a sentence or two what is shown of runs that all pairs are compared of, for what.

    `labels` are best first, `against_best` the headline's differences of the others from the best,
    in the same order; `shown` is the number of pairs that are shown to differ.
    """
    best, runs, where = labels[0], len(labels), claims.name(claims.leading)
    weak = claims.leading == "documents" and claims.strength == "weak"
    weakness = f" {claims.describe_weakness()}" if weak and shown else ""
    measure, top = against_best[0].measure, score(against_best[0].base)
    if not shown:
        few = any(item.verdict == "not shown (too few queries)" for item in against_best)
        told = f"{against_best[0].n:,} queries are too few to tell these {runs} runs apart {where}"
        if not few:
            told = f"No difference between these {runs} runs is shown {where}"
        last = score(against_best[-1].other)
        if last == top:
            return f"{told}: {measure} is {top} for each."
        return f"{told}: {measure} is from {last} ({labels[-1]}) to {top} ({best})."
    worse = [name for name, item in zip(labels[1:], against_best, strict=True) if item.shown]
    if len(worse) == runs - 1:
        second = against_best[0]
        return (
            f"{best} is the best of these {runs} runs {where}: {measure} is {top}, better than "
            f"each of the others; {labels[1]}, the next, is at {score(second.other)} "
            f"({signed(second.difference.value)}, {describe_evidence(second)}).{weakness}"
        )
    rivals = [name for name in labels[1:] if name not in worse]
    told = f"shown to be better than {enumerate_names(worse)}, " if worse else ""
    return (
        f"{best} comes first of these {runs} runs {where}, with {measure} {top}: {told}not shown "
        f"to differ from {enumerate_names(rivals)}.{weakness}"
    )


def _name_group(i: int) -> str:
    """Return the letter of a group: a to z, then A to Z, then with a number."""
    letters = ascii_lowercase + ascii_lowercase.upper()
    return letters[i] if i < len(letters) else f"({i + 1})"
