"""The ledger of a project: every look at its held-out questions, a line of JSON each.

It is committed with the project. No figure of the held-out questions is in it: whoever reads these
could choose the next pipeline by them.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from assay.eval.statistics.looks import LOOKS
from assay.retrievers.base import AssayError
from assay.retrievers.settings import Settings, validate
from assay.retrievers.store.files import write_atomically
from assay.retrievers.store.locks import changing

FILE = "looks.jsonl"  # beside the project file
MARKS = 16  # questions by which a set is known again


class Look(Settings):
    """A look at held-out questions: what was asked, and the answer."""

    date: str = Field(description="the day, in UTC")
    held_out: str = Field(description="the collection")
    marks: list[str] = Field(min_length=1, description="digests of some questions")
    content: str = Field(description="the digest of documents, questions and judgments")
    pipeline: str = Field(description="the name of the pipeline")
    pipeline_digest: str
    incumbent: str = Field(description="the name of the pipeline it was compared with")
    incumbent_digest: str
    measure: str
    gain: float = Field(description="the mean difference on the development questions")
    better: bool = Field(description="true if it is better on the held-out questions")
    left: int = Field(ge=0, description="looks that were left after it")


@dataclass(frozen=True)
class Question:
    """A question to the held-out set: is a pipeline better than another?"""

    marks: tuple[str, ...]
    content: str
    pipeline: str
    incumbent: str
    measure: str

    def find_answer(self, looks: Iterable[Look]) -> Look | None:
        """Return the look that answers it already."""
        asked = (self.content, self.pipeline, self.incumbent, self.measure)
        return next(
            (
                look
                for look in looks
                if asked
                == (look.content, look.pipeline_digest, look.incumbent_digest, look.measure)
            ),
            None,
        )

    def list_counted(self, looks: Iterable[Look]) -> list[Look]:
        """Return the looks that count: those at a set with one of these questions."""
        return [look for look in looks if not set(look.marks).isdisjoint(self.marks)]


def mark_questions(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the smallest digests of questions, by which sets that share some are found.

    Sets that have half of their questions in common share a mark in 998 of 1,000 cases, sets
    without a common question none (Broder, "On the resemblance and containment of documents",
    1997).
    """
    said = {" ".join(text.casefold().split()) for text in texts}
    return tuple(sorted(hashlib.sha256(text.encode()).hexdigest()[:12] for text in said)[:MARKS])


def read_looks(path: Path) -> list[Look]:
    """Return the looks in a file; none without one. Raises AssayError for a line that is wrong."""
    if not path.exists():
        return []
    found = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        place = f"{path.name}, line {number}"
        try:
            values = json.loads(line)
        except ValueError:
            values = None
        if not isinstance(values, dict):
            raise AssayError(f"{place}: no JSON object; take the line from git again")
        found.append(validate(Look, values, place))
    return found


@contextmanager
def adding(path: Path) -> Iterator[list[Look]]:
    """Yield the looks in a file, to which one may be added; others wait.

    The file is written whole, so that a kill leaves the old or the new one.
    """
    with changing(path):
        looks = read_looks(path)
        before = len(looks)
        yield looks
        if len(looks) > before:
            lines = [look.model_dump_json() + "\n" for look in looks[before:]]
            old = path.read_bytes() if path.exists() else b""
            separator = b"" if not old or old.endswith(b"\n") else b"\n"
            write_atomically(path, old + separator + "".join(lines).encode())


def count_left(counted: Sequence[Look]) -> int:
    """Return the number of looks that are left after those that count."""
    return max(LOOKS - len(counted), 0)


def check_left(counted: Sequence[Look], held_out: str) -> int:
    """Return the number of looks that are left. Raises AssayError if there are none."""
    if left := count_left(counted):
        return left
    raise AssayError(
        f"{FILE}: the {LOOKS} looks at {held_out} are used up, the last on {counted[-1].date}: any "
        "further verdict on these questions could be chance. Write new ones, give them judgments "
        "of their own in the card, and name these as held_out in the project file"
    )
