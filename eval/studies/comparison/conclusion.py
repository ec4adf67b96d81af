"""What a comparison says of one run beside another, in words."""

from collections.abc import Sequence

from assay.eval.report.formats import p_value, score, signed
from assay.eval.statistics.significance import ALPHA
from assay.eval.studies.comparison.differences import Difference

MOST_TYPES, MOST_NAMED = 6, 6  # types, and runs, that a sentence names


def conclude(
    headline: Difference,
    by_type: Sequence[Difference],
    types_differ: float | None,
    names: tuple[str, str],
    effect: float,
) -> str:
    """Return in a few sentences whether the run is better than the base.

    `names` are those of the base and of the run; `effect` is the difference that would matter.
    """
    base, other = names
    measure = headline.measure
    before, after = score(headline.base), score(headline.other)
    change = f"{signed(headline.difference.value)} ({describe_evidence(headline)})"
    if headline.shown:
        verb = "rises" if headline.difference.value > 0 else "falls"
        told = (
            f"{other} is {headline.verdict} than {base}: {measure} {verb} from {before} to "
            f"{after}, by {change}."
        )
    elif headline.verdict == "no difference shown":
        told = (
            f"No difference between {other} and {base} is shown: {measure} is {after} against "
            f"{before}, {change}. One of {effect:g} would most likely have been found."
        )
    else:
        told = (
            f"{headline.n:,} queries are too few to tell {other} from {base}: {measure} is {after} "
            f"against {before}, {change}."
        )
    types = describe_types(headline, by_type, types_differ)
    return f"{told} But {types}" if types else told


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
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _list(items: Sequence[Difference]) -> str:
    """Return types with their differences, the largest ones, from the most negative on."""
    largest = sorted(items, key=lambda item: -abs(item.difference.value))[:MOST_TYPES]
    ordered = sorted(largest, key=lambda item: item.difference.value)
    named = ", ".join(f"{item.type} {signed(item.difference.value)}" for item in ordered)
    return named + (f" and {len(items) - MOST_TYPES} more" if len(items) > MOST_TYPES else "")
