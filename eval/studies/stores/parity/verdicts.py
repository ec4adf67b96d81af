"""Two fused lists of one query: the same, the same but for ties, or different."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isclose
from typing import Literal, get_args

Scored = tuple[int, float]
QueryVerdict = Literal["identical", "ties", "different"]
VERDICTS: tuple[QueryVerdict, ...] = get_args(QueryVerdict)

# Engines compute in 32 bits. Scores of reciprocal ranks differ by more up to rank 1,000.
RELATIVE = 1e-4
OF_THE_BEST = 1e-5


def compare(returned: Sequence[Scored], expected: Sequence[Scored], limit: int) -> QueryVerdict:
    """Compare what an engine returned to `limit` with what was expected, both best first.

    A text that is returned twice is `different` from anything, since nothing is expected twice.
    `identical`: the same texts in the same order, scores equal but for rounding. `ties`: the same
    scores, and texts in another order only where their scores are equal but for rounding.
    """
    wanted = expected[:limit]
    if len(returned) != len(wanted) or find_repeated(returned) is not None:
        return "different"
    near = OF_THE_BEST * max((abs(score) for _, score in wanted), default=0.0)
    pairs = list(zip(returned, wanted, strict=True))
    if not all(_equal(one[1], other[1], near) for one, other in pairs):
        return "different"
    if all(one[0] == other[0] for one, other in pairs):
        return "identical"
    # A text beyond the limit may stand for one within that is as good.
    scores = dict(expected)
    alike = all(i in scores and _equal(score, scores[i], near) for i, score in returned)
    return "ties" if alike else "different"


def find_repeated(listed: Sequence[Scored]) -> int | None:
    """Return the first text that a list holds twice; None where each stands once."""
    seen: set[int] = set()
    for i, _ in listed:
        if i in seen:
            return i
        seen.add(i)
    return None


def _equal(one: float, other: float, near: float) -> bool:
    return isclose(one, other, rel_tol=RELATIVE, abs_tol=near)


def count_verdicts(verdicts: Mapping[str, QueryVerdict]) -> dict[str, int]:
    """Return the number of queries by verdict."""
    counted = Counter(verdicts.values())
    return {name: counted[name] for name in VERDICTS}


def conclude(verdicts: Mapping[str, QueryVerdict]) -> str:
    """Return the verdict on all queries."""
    counted = count_verdicts(verdicts)
    if counted["different"]:
        return "different"
    return "identical but for ties" if counted["ties"] else "identical"
