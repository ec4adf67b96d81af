"""Write the grades of the page into rows of the pool's table, which are then checked as usual."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from assay.eval.collections.authoring.labels import read_pairs
from assay.eval.collections.authoring.worksheet import Pair
from assay.eval.collections.collection import Collection
from assay.eval.collections.formats.rows import Row
from assay.eval.collections.problems import Problems
from assay.eval.studies.judging.agreement import find_disagreements
from assay.eval.studies.judging.grades import Grade, GradeFile

SUFFIX = ".grades.db"


@dataclass(frozen=True, slots=True)
class GradedTable:
    """The rows of a table, filled in with the grades of the page.

    Attributes:
        rows: The rows.
        judges: The number of grades of each judge for pairs of the table.
        open: The number of pairs whose judges disagree and that nobody has settled; their rows stay
            unchanged.
    """

    rows: list[Row]
    judges: dict[str, int]
    open: int


def find_grade_file(table: Path) -> Path:
    """Return the path of the file with the grades from the page of a table."""
    return table.with_name(f"{table.name}{SUFFIX}")


def fill_in(rows: list[Row], collection: Collection, grades: GradeFile) -> GradedTable:
    """Return the rows with the grades of the page; a grade in the table itself takes precedence.

    A settled row gets the settled grade, any other row the grade that all its judges gave. If their
    spans differ, the row gets the shortest span that contains all of them. Notes are appended to
    the row's comment.
    """
    graded, settled, notes = grades.read_grades(), grades.read_settled(), grades.read_notes()
    apart = set(find_disagreements(graded))
    open_ = apart - set(settled)
    pairs = {pair.digest: pair for pair in read_pairs(rows, collection, Problems(strict=False))}
    filled: list[Row] = []
    judges: dict[str, int] = {}
    left = 0
    for row in rows:
        digest = row.string("digest", "").strip()
        by_judge = graded.get(digest, {})
        for judge in by_judge:
            judges[judge] = judges.get(judge, 0) + 1
        left += digest in open_
        if not by_judge or digest in open_ or row.string("grade", "").strip():
            filled.append(row)
            continue
        # If a judge undid a grade, there may be nothing left to settle.
        final = settled.get(digest) if digest in apart else None
        chosen = [final] if final else list(by_judge.values())
        comments = (row.string("comment", "").strip(), *notes.get(digest, {}).values())
        made = fill_row(row, chosen, _name(by_judge, final), pairs.get(digest), collection)
        comment = {"comment": "; ".join(filter(None, comments))}
        filled.append(replace(made, values={**made.values, **comment}))
    return GradedTable(filled, dict(sorted(judges.items())), left)


def _name(by_judge: Mapping[str, Grade], settled: Grade | None) -> str:
    judges = ", ".join(f"person {judge}" for judge in sorted(by_judge))
    return f"{judges}; settled by person {settled.judge}" if settled else judges


def fill_row(
    row: Row, chosen: list[Grade], judged_by: str, pair: Pair | None, collection: Collection
) -> Row:
    """Return a row with the grade that all of `chosen` give, and the span that they mark.

    The span of a row that was changed since it was pooled, which is no `pair`, is left unchanged:
    the checks reject it.
    """
    values = {
        "grade": str(chosen[0].grade),
        "judged_by": judged_by,
        "judged_on": max(one.at for one in chosen)[: len("YYYY-MM-DD")],
    }
    if pair:
        values |= _narrow(pair, chosen, collection.texts[pair.doc_id])
    return replace(row, values={**row.values, **values})


def _narrow(pair: Pair, chosen: list[Grade], text: str) -> dict[str, str]:
    """Return the values that the marked spans change in the row of `pair`; {} if one has no span.

    Args:
        pair: The pair of the row.
        chosen: The grades that count.
        text: The text of the document.
    """
    spans = [one.span for one in chosen if one.span]
    if len(spans) < len(chosen):
        return {}
    start, end = min(span[0] for span in spans), max(span[1] for span in spans)
    part = replace(pair, start=start, end=end, text=text[start:end])
    return {"start": str(start), "end": str(end), "digest": part.digest}
