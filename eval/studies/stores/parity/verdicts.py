"""Comparison of two fused lists of one query: identical, equal except for ties, or different."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Literal, get_args

from assay.retrievers.fusion.ranking import Scored

QueryVerdict = Literal["identical", "ties", "different"]
VERDICTS: tuple[QueryVerdict, ...] = get_args(QueryVerdict)

# Engines compute in 32 bits. Scores of reciprocal ranks differ by more up to rank 1,000.
RELATIVE = 1e-4
OF_THE_BEST = 1e-5
SHOWN = 2  # texts of each list that an example shows, from the first difference on


@dataclass(frozen=True, slots=True)
class ListPosition:
    """The ranks of one text in each list, from 1, None if it is missing; scores are fused ones."""

    chunk: str
    returned: int | None
    returned_score: float | None
    expected: int | None
    expected_score: float | None
    dense: int | None
    keyword: int | None


@dataclass(frozen=True, slots=True)
class Example:
    """A query and its texts from the first rank at which the two lists differ."""

    query: str
    text: str
    verdict: str
    rank: int
    places: tuple[ListPosition, ...]


def compare(returned: Sequence[Scored], expected: Sequence[Scored], limit: int) -> QueryVerdict:
    """Compare the results of an engine up to `limit` with the expected list, both best first.

    Returns:
        "identical": the same texts in the same order, with scores equal except for rounding.
        "ties": the same scores, and texts in another order only if their scores are equal except
        for rounding.
        "different": otherwise; also if a text is returned twice, because none is expected twice.
    """
    wanted = expected[:limit]
    if len(returned) != len(wanted) or find_repeated(returned) is not None:
        return "different"
    near = _find_rounding(wanted)
    pairs = list(zip(returned, wanted, strict=True))
    if not all(_equal(one[1], other[1], near) for one, other in pairs):
        return "different"
    if all(one[0] == other[0] for one, other in pairs):
        return "identical"
    # A text beyond the limit may replace one within the limit that has the same score.
    scores = dict(expected)
    alike = all(i in scores and _equal(score, scores[i], near) for i, score in returned)
    return "ties" if alike else "different"


def find_repeated(listed: Sequence[Scored]) -> int | None:
    """Return the first text that a list repeats; None if each occurs once."""
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


def place_texts(
    lists: Mapping[str, Sequence[Scored]], chunks: Sequence[str]
) -> tuple[int, tuple[ListPosition, ...]]:
    """Return the first rank at which two lists differ, and the ranks of the texts from there on.

    `lists` has the `returned`, the `expected`, and the engine's `dense` and `keyword` list, best
    first; `chunks` are the ids of the texts by position.
    """
    returned, expected = lists["returned"], lists["expected"]
    near = _find_rounding(expected)
    pairs = list(zip(returned, expected, strict=False))
    differs = (i for i, (a, b) in enumerate(pairs) if a[0] != b[0] or abs(a[1] - b[1]) > near)
    first = next(differs, len(pairs))
    shown = dict.fromkeys(
        position for listed in (returned, expected) for position, _ in listed[first : first + SHOWN]
    )
    ranks = {
        name: {position: i for i, (position, _) in enumerate(listed, start=1)}
        for name, listed in lists.items()
    }
    places = tuple(
        ListPosition(
            chunk=chunks[position],
            returned_score=dict(returned).get(position),
            expected_score=dict(expected).get(position),
            **{name: ranked.get(position) for name, ranked in ranks.items()},
        )
        for position in shown
    )
    return first + 1, places


def _find_rounding(listed: Sequence[Scored]) -> float:
    """Return the largest difference at which scores of a list count as equal."""
    return OF_THE_BEST * max((abs(score) for _, score in listed), default=0.0)
