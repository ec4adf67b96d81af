"""Measures of the agreement of two rankings."""

from collections.abc import Sequence

PERSISTENCE = 0.9  # of a user who looks at ten hits on average


def find_jaccard(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the Jaccard index: the share of the union that both have; 1 if both are empty."""
    either = {*one, *other}
    return len({*one} & {*other}) / len(either) if either else 1.0


def find_rbo(one: Sequence[str], other: Sequence[str], p: float = PERSISTENCE) -> float:
    r"""Return the rank-biased overlap of two rankings, each without repetitions, extrapolated.

    It is `RBO_ext` of Webber, Moffat and Zobel, "A similarity measure for indefinite rankings"
    (TOIS 2010), equation 32, which takes lists of unequal lengths; 1 if both are empty.
    """
    short, long = sorted((one, other), key=len)
    if not long:
        return 1.0
    seen_short: set[str] = set()
    seen_long: set[str] = set()
    total, common, at_short = 0.0, 0, 0
    for depth, item in enumerate(long, start=1):
        seen_long.add(item)
        if depth <= len(short):
            seen_short.add(short[depth - 1])
        common = len(seen_long & seen_short)
        total += common / depth * p**depth
        if depth == len(short):
            at_short = common
        elif depth > len(short) > 0:
            total += at_short * (depth - len(short)) / (depth * len(short)) * p**depth
    tail = (common - at_short) / len(long) + (at_short / len(short) if short else 0.0)
    return total * (1 - p) / p + tail * p ** len(long)
