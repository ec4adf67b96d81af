"""What a comparison says of one run beside another, in words."""

from collections.abc import Sequence
from typing import Protocol

from assay.eval.report.formats import enumerate_words, p_value, score, signed
from assay.eval.runs.summary.claims import Claims
from assay.eval.statistics.significance import ALPHA
from assay.eval.studies.comparison.differences import Difference

MOST_TYPES, MOST_NAMED = 6, 6  # types, and runs, that a sentence names


class Judged(Protocol):
    """A run beside its base, as the tests of a comparison found it."""

    @property
    def headline(self) -> Difference:
        """The difference of the headline measure, by the leading claim."""

    @property
    def by_type(self) -> Sequence[Difference]:
        """The differences of it by type of query."""

    @property
    def types_differ(self) -> float | None:
        """The p-value of types that all differ alike; None where it is not tested."""

    @property
    def opposite(self) -> Difference:
        """The difference of the headline measure, by the other claim."""


def conclude(pair: Judged, names: tuple[str, str], effect: float, claims: Claims) -> str:
    """Return in a few sentences whether the run is better than the base, and for what.

    `names` are those of the base and of the run; `effect` is the difference that would matter.
    """
    base, other = names
    headline, where = pair.headline, claims.name(claims.leading)
    measure = headline.measure
    before, after = score(headline.base), score(headline.other)
    change = f"{signed(headline.difference.value)} ({describe_evidence(headline)})"
    if headline.shown:
        verb = "rises" if headline.difference.value > 0 else "falls"
        told = (
            f"{other} is {headline.verdict} than {base} {where}: {measure} {verb} from {before} "
            f"to {after}, by {change}."
        )
        if claims.leading == "documents" and claims.strength == "weak":
            told += f" {claims.describe_weakness()}"
    elif headline.verdict == "no difference shown":
        told = (
            f"No difference between {other} and {base} is shown {where}: {measure} is {after} "
            f"against {before}, {change}. One of {effect:g} would most likely have been found."
        )
    else:
        told = (
            f"{headline.n:,} queries are too few to tell {other} from {base} {where}: {measure} is "
            f"{after} against {before}, {change}."
        )
    if pair.opposite.shown != headline.shown:
        told += f" {conclude_opposite(pair.opposite, names, claims)}"
    types = describe_types(headline, pair.by_type, pair.types_differ)
    return f"{told} But {types}" if types else told


def conclude_opposite(
    opposite: Difference, names: tuple[str, str], claims: Claims, *, exact: bool = True
) -> str:
    """Return in a sentence what the other claim's verdict is, which differs.

    Without `exact` no p-value is named.
    """
    base, other = names
    where = claims.name(claims.other)
    where = f"{where[0].upper()}{where[1:]}"
    p = "not tested" if opposite.adjusted is None else f"p {p_value(opposite.adjusted)}"
    evidence = f" ({p})" if exact else ""
    if opposite.shown:
        return f"{where} {other} is {opposite.verdict} than {base}{evidence}."
    return f"{where} that is not shown{evidence}."


def name_opposite(claims: Claims, listed: str) -> str:
    """Return in a sentence that some pairs' verdicts differ by the other claim."""
    if claims.leading == "documents":
        where = claims.name("questions")
        return f"{where[0].upper()}{where[1:]}, {listed} are shown to differ."
    return f"{claims.name('documents').capitalize()}, {listed} are not shown to differ."


def describe_evidence(item: Difference) -> str:
    """Return the interval of a difference and its p-value, saying which they are."""
    low, high = signed(item.interval.low), signed(item.interval.high)
    if item.adjusted is None:
        return f"95 % interval {low} to {high}, not tested"
    return f"95 % simultaneous interval {low} to {high}, p {p_value(item.adjusted)}"


def describe_types(
    headline: Difference,
    by_type: Sequence[Difference],
    types_differ: float | None,
    *,
    exact: bool = True,
) -> str:
    """Return what types of query say against the sentence over all queries; "" for nothing.

    Without `exact` no p-value is named.
    """
    shown = [item for item in by_type if item.shown]
    if len({item.verdict for item in shown}) > 1:
        return f"types of query differ in opposite directions: {_list(shown)}."
    if against := [item for item in shown if item.verdict != headline.verdict]:
        return f"by type of query a difference is shown: {_list(against)}."
    if not headline.shown and types_differ is not None and types_differ <= ALPHA:
        ordered = sorted(by_type, key=lambda item: item.difference.value)
        known = f" (p {p_value(types_differ)})" if exact else ""
        return (
            f"types of query differ from one another{known}, from "
            f"{_list(ordered[:1])} to {_list(ordered[-1:])}."
        )
    return ""


def enumerate_names(names: Sequence[str]) -> str:
    """Return the names of runs in words, or how many they are."""
    if len(names) > MOST_NAMED:
        return f"{len(names)} of them"
    return enumerate_words(names)


def _list(items: Sequence[Difference]) -> str:
    """Return types with their differences, the largest ones, from the most negative on."""
    largest = sorted(items, key=lambda item: -abs(item.difference.value))[:MOST_TYPES]
    ordered = sorted(largest, key=lambda item: item.difference.value)
    named = ", ".join(f"{item.type} {signed(item.difference.value)}" for item in ordered)
    return named + (f" and {len(items) - MOST_TYPES} more" if len(items) > MOST_TYPES else "")
