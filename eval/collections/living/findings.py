"""The status of a judgment after its documents changed, and its present or possible places."""

from dataclasses import dataclass
from enum import StrEnum

from assay.retrievers.base.quotes import QuoteSpan

KEPT = 0.5  # of the lines of a section or a document: with less of them it is another text


class Status(StrEnum):
    """The status of a judgment after its documents changed."""

    IN_PLACE = "in place"
    MOVED = "moved"
    ELSEWHERE = "moved to another document"
    REWORDED = "reworded"
    AMBIGUOUS = "ambiguous"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A possible new place of a judgment; `similarity` runs from 0 to 1."""

    place: QuoteSpan
    similarity: float


@dataclass(frozen=True, slots=True)
class Finding:
    """The status and present place of a judgment; the place is None if it is not certain.

    There may be `proposals` then. `edited` is true if a section or a whole document kept its name
    but not all of its text.
    """

    status: Status
    place: QuoteSpan | None = None
    proposals: tuple[Proposal, ...] = ()
    edited: bool = False


def judge_edit(place: QuoteSpan, similarity: float) -> Finding:
    """Return the finding on a judgment of a section or a document that has kept its name."""
    if similarity < KEPT:
        return Finding(Status.REWORDED, proposals=(Proposal(place, similarity),))
    return Finding(Status.IN_PLACE, place, edited=similarity < 1)
