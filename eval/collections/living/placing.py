"""Rows of judgments with the places that they have in the documents as they are now."""

from collections.abc import Iterable, Iterator, Mapping

from assay.eval.collections.collection import GoldItem
from assay.eval.collections.formats.places import make_span_item
from assay.eval.collections.formats.rows import Row, read_grade
from assay.eval.collections.living.drift import Drift
from assay.eval.collections.living.findings import Finding
from assay.eval.collections.living.locating import locate_all
from assay.eval.collections.living.selectors import (
    STATUS,
    Anchor,
    flatten,
    is_anchored,
    read_anchor,
)
from assay.eval.collections.problems import Problems
from assay.retrievers.base import Document


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
