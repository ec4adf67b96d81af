"""Single queries on which an engine and its formula disagree, for people to look at."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.eval.studies.stores.parity.verdicts import OF_THE_BEST, Scored

TEXTS = 4  # texts shown from the first rank of disagreement on


@dataclass(frozen=True, slots=True)
class ListPosition:
    """Where one text stands: ranks from 1, None where it is not; scores are fused ones."""

    chunk: str
    returned: int | None
    returned_score: float | None
    expected: int | None
    expected_score: float | None
    dense: int | None
    keyword: int | None


@dataclass(frozen=True, slots=True)
class Example:
    """One query and the texts from the first rank on at which both differ."""

    query: str
    text: str
    verdict: str
    rank: int
    places: tuple[ListPosition, ...]


@dataclass(frozen=True, slots=True)
class FusedLists:
    """What the engine returned and what its formula gives, and its two lists; best first."""

    returned: Sequence[Scored]
    expected: Sequence[Scored]
    dense: Sequence[Scored]
    keyword: Sequence[Scored]


def make_example(
    query: str, text: str, verdict: str, fused: FusedLists, chunks: Sequence[str]
) -> Example:
    """Return a query as an example; `chunks` are the ids of the texts by position."""
    rank = _first_difference(fused.returned, fused.expected)
    shown = dict.fromkeys(
        position
        for listed in (fused.returned, fused.expected)
        for position, _ in listed[rank : rank + TEXTS // 2]
    )
    ranks = [
        {position: i for i, (position, _) in enumerate(listed, start=1)}
        for listed in (fused.returned, fused.expected, fused.dense, fused.keyword)
    ]
    returned, expected = dict(fused.returned), dict(fused.expected)
    places = tuple(
        ListPosition(
            chunk=chunks[position],
            returned=ranks[0].get(position),
            returned_score=returned.get(position),
            expected=ranks[1].get(position),
            expected_score=expected.get(position),
            dense=ranks[2].get(position),
            keyword=ranks[3].get(position),
        )
        for position in shown
    )
    return Example(query, text, verdict, rank + 1, places)


def _first_difference(returned: Sequence[Scored], expected: Sequence[Scored]) -> int:
    near = OF_THE_BEST * max((abs(score) for _, score in expected), default=0.0)
    for i, (one, other) in enumerate(zip(returned, expected, strict=False)):
        if one[0] != other[0] or abs(one[1] - other[1]) > near:
            return i
    return min(len(returned), len(expected))
