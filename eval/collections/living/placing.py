"""Judgments at the present places of their texts, and messages on those that moved."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from assay.eval.collections.collection import GoldItem
from assay.eval.collections.formats.places import make_span_item
from assay.eval.collections.formats.rows import Row, read_grade
from assay.eval.collections.living.findings import Finding, Status
from assay.eval.collections.living.locating import locate_all
from assay.eval.collections.living.selectors import (
    STATUS,
    Anchor,
    flatten,
    is_anchored,
    read_anchor,
)
from assay.eval.collections.problems import Problems
from assay.retrievers.base import Document, Progress


@dataclass(slots=True)
class Drift:
    """The number of judgments that are not in place, by status."""

    found: Counter[Status] = field(default_factory=Counter)

    def note(self, problems: Problems, row: Row, finding: Finding) -> bool:
        """Count and report a judgment, and return True if its place is certain."""
        if finding.status is Status.IN_PLACE:
            return True
        self.found[finding.status] += 1
        query = f'query "{row.values["query_id"]}": ' if row.has("query_id") else ""
        where = f'from {row.values.get("start")} of "{row.values.get("path")}"'
        if place := finding.place:
            problems.warn(
                row.file,
                row.line,
                f'{query}the judged text {where} is at {place.start} of "{place.doc_id}" now; '
                "`assay dataset sync` writes its new place",
            )
            return True
        if not problems.strict:  # it keeps no collection from loading
            problems.error(
                row.file,
                row.line,
                f"{query}the judged text {where} is {finding.status} now and does not count; "
                "`assay dataset sync` says what to do",
            )
        return False

    def set_aside(self, problems: Problems, row: Row) -> None:
        """Report a judgment that a sync has set aside."""
        query = f'query "{row.values.get("query_id")}": ' if row.has("query_id") else ""
        problems.note(row.file, f"{query}a judgment is {row.values[STATUS]} and does not count")

    def say(self, name: str, progress: Progress) -> None:
        """Report in one line the numbers of judgments that moved and that are left out."""
        moved = {i: self.found[i] for i in (Status.MOVED, Status.ELSEWHERE) if self.found[i]}
        left = {i: n for i, n in self.found.items() if i not in moved}
        parts = []
        if moved:
            told = ", ".join(f"{n} {status}" for status, n in moved.items())
            parts.append(f"{told} (used where their text is now)")
        if left:
            told = ", ".join(f"{n} {status}" for status, n in sorted(left.items()))
            parts.append(f"{told} (LEFT OUT of every measure)")
        if parts:
            progress.say(
                f"warning: {name}: documents have changed under judgments: {'; '.join(parts)}. "
                f"`assay dataset sync {name}` brings the collection up to date"
            )


def place_rows(
    rows: Iterable[Row], documents: Mapping[str, Document], problems: Problems, drift: Drift
) -> Iterator[tuple[Row, Finding | None]]:
    """Yield the rows that count, flattened, each with its place if it keeps the text judged.

    Those whose text is elsewhere are reported to `problems` and counted in `drift`; where the place
    is not certain they are left out, as are those that a sync has set aside.
    """
    read: list[tuple[Row, Anchor | None]] = []
    for row in rows:
        with problems.of(row):
            flat = flatten(row)
            if flat.has(STATUS):
                drift.set_aside(problems, flat)
            else:
                read.append((flat, read_anchor(flat) if is_anchored(flat) else None))
    found = iter(locate_all([anchor for _, anchor in read if anchor], documents))
    for row, anchor in read:
        finding = next(found) if anchor else None
        if finding is None or drift.note(problems, row, finding):
            yield row, finding


def make_item(row: Row, finding: Finding, judged_by: str) -> GoldItem:
    """Return the gold item of a row at the place that it has now. Raises RowError.

    `judged_by` is whose grade it is where the row names nobody.
    """
    place = finding.place
    assert place is not None
    query_id, grade = row.string("query_id"), read_grade(row)
    span, judge = (place.start, place.end), row.string("judged_by", "") or judged_by
    if row.has("start") or row.has("section"):
        return make_span_item(query_id, place.doc_id, span, grade, judge)
    return GoldItem(query_id, place.doc_id, place.doc_id, *span, grade, judged_by=judge)
