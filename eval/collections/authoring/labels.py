"""Reading a table of judged pairs, and checking each row against its collection."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from assay.eval.collections.answer_spans import find_answer_end, is_unsearched
from assay.eval.collections.authoring.worksheet import Pair, trim
from assay.eval.collections.collection import PERSON, Collection, GoldItem, Label
from assay.eval.collections.formats.rows import Row, RowError, parse_grade
from assay.eval.collections.problems import Problems
from assay.retrievers.base import AssayError

Place = tuple[str, int, int]
T = TypeVar("T")


@dataclass(slots=True)
class Labels:
    """The new judgments of a table; `unfilled` rows have no grade, `known` ones are not new."""

    new: list[Label] = field(default_factory=list)
    unfilled: int = 0
    known: int = 0


def find_highest_grade(collection: Collection) -> int:
    """Return the highest grade given in the collection, at least 1."""
    grades = (item.grade for items in collection.gold.values() for item in items)
    return max([1, *grades])


def find_collection(file: Path, rows: Sequence[Row]) -> str:
    """Return the collection that all rows of the table `file` name. Raises AssayError."""
    names = {row.string("collection", "").strip() for row in rows} - {""}
    if len(names) != 1:
        listed = ", ".join(sorted(names)) or "none"
        raise AssayError(
            f"{file}: the column collection names {listed}; it must name one: say --collection NAME"
        )
    return names.pop()


def check_labels(
    rows: Sequence[Row], collection: Collection, highest: int, problems: Problems
) -> Labels:
    """Return the labels that a table adds to `collection`; rows without a grade are skipped.

    Rows with a fault are reported to `problems` and left out: an unknown query or document, a span
    that is not within its document, a text that differs from the document's at that place, a grade
    that is not a whole number from 0 to `highest`, and a pair with another grade in an earlier row
    or in the collection.
    """
    reader = _Reader(collection, highest)
    labels = Labels()
    given: dict[tuple[str, Place], tuple[int, Row]] = {}
    for row in rows:
        if not row.string("grade", "").strip():
            labels.unfilled += 1
            continue
        with problems.of(row):
            label = reader.read(row)
            place = (label.doc_id, label.start, label.end)
            grade, first = given.setdefault((label.query_id, place), (label.grade, row))
            if grade != label.grade:
                raise RowError(f"grade {label.grade} here and {grade} in line {first.line}")
            if first is not row or reader.is_known(label):
                labels.known += 1
            else:
                labels.new.append(label)
    return labels


def read_pairs(rows: Sequence[Row], collection: Collection, problems: Problems) -> list[Pair]:
    """Return the pairs of a table, each once, with the whole text that `collection` holds there.

    Rows that `check_labels` would refuse whatever their grade are reported to `problems` and left
    out.
    """
    reader = _Reader(collection, 0)
    pairs: dict[str, Pair] = {}
    for row in rows:
        with problems.of(row):
            pair = reader.locate(row)
            reader.find_passage(pair)
            pairs.setdefault(pair.digest, pair)
    return list(pairs.values())


class _Reader:
    """A reader that turns rows into labels. Raises RowError for a row that does not fit."""

    def __init__(self, collection: Collection, highest: int) -> None:
        self._queries = {query.id: query for query in collection.queries}
        self._documents = collection.by_id
        self._highest = highest
        self._min_grade = collection.card.min_grade
        self._judges_spans = collection.card.judges_spans
        # If judgments that name nobody are a model's by the card, those of a person must say so.
        self._unnamed = PERSON if collection.card.by_model else ""
        self._judged = {query: self._place_all(items) for query, items in collection.gold.items()}

    def read(self, row: Row) -> Label:
        """Return the label of a row whose grade is filled in."""
        grade = self._read_grade(row)
        pair = self.locate(row)
        document = self._documents[pair.doc_id]
        if grade and self._judges_spans and is_unsearched(document, pair.start, pair.end):
            raise RowError(
                f'"{pair.doc_id}" from {pair.start} to {pair.end} is frontmatter, which most '
                "pipelines do not search; leave the grade empty, and judge text below it"
            )
        if grade and self._judges_spans and find_answer_end(document, pair.start, pair.end):
            raise RowError(
                f'"{pair.doc_id}" from {pair.start} to {pair.end} is a heading alone, so the text '
                "below it would not count as an answer; grade it 0, and judge that text"
            )
        return Label(
            query_id=pair.query_id,
            doc_id=pair.doc_id,
            start=pair.start,
            end=pair.end,
            grade=grade,
            text=pair.text,
            passage_id=self.find_passage(pair),
            comment=row.string("comment", "").strip(),
            judged_by=row.string("judged_by", "").strip() or self._unnamed,
            judged_on=row.string("judged_on", "").strip(),
        )

    def locate(self, row: Row) -> Pair:
        """Return the pair of a row, which is as it was when it was pooled."""
        query = _find("query", row, "query_id", self._queries)
        document = _find("document", row, "doc_id", self._documents)
        start, end = _read_offset(row, "start"), _read_offset(row, "end")
        if not 0 <= start <= end <= len(document.text):
            raise RowError(
                f'span {start} to {end} is not within "{document.id}"; '
                f"allowed: 0 <= start <= end <= {len(document.text)}"
            )
        title, text = row.string("title", ""), document.text[start:end]
        pair = Pair(query.id, query.text, query.type, document.id, title, start, end, text)
        if row.string("digest").strip() == pair.digest:
            return pair
        line = " ".join(text.split())
        raise RowError(
            f'"{document.id}" from {start} to {end}, now '
            f"{line if len(line) <= 40 else f'{line[:37]}...'!r}, is not what was to be judged: "
            "the document, the query or this row has changed; pool again"
        )

    def find_passage(self, pair: Pair) -> str:
        """Return the id of the passage that is judged, "" if spans are judged."""
        if self._judges_spans:
            return ""
        document = self._documents[pair.doc_id]
        for passage in document.passages:
            text = document.text[passage.start : passage.end]
            if trim(text, passage.start) == (pair.start, pair.end):
                return passage.id
        raise RowError(
            f'"{document.id}" from {pair.start} to {pair.end} is no passage of this collection, '
            "which judges the passages it prescribes and no others"
        )

    def is_known(self, label: Label) -> bool:
        """Return True if the collection has this judgment. Raises RowError for another grade.

        A person's judgment is new if only a model has judged, and a model's is not new if a person
        has, whatever the grades.
        """
        item = self._judged[label.query_id].get((label.doc_id, label.start, label.end))
        if item is None:
            return False
        if item.by_model != label.by_model:
            return label.by_model
        counted = label.grade if label.grade >= self._min_grade else 0
        if counted != max(item.grade, 0):
            raise RowError(
                f'"{item.id}" has grade {label.grade} here and {item.grade} in the collection for '
                f'query "{label.query_id}"; one text must have one grade'
            )
        return True

    def _read_grade(self, row: Row) -> int:
        written = row.string("grade").strip()
        grade = parse_grade(written)
        if grade is None or grade > self._highest:
            raise RowError(
                f"grade must be a whole number from 0 to {self._highest}, not {written[:40]!r}"
            )
        return grade

    def _place_all(self, items: Sequence[GoldItem]) -> dict[Place, GoldItem]:
        places = {}
        for item in items:
            document = self._documents.get(item.doc_id)
            text = document.text[item.start : item.end] if document else ""
            places[(item.doc_id, *trim(text, item.start))] = item
        return places


def _find(what: str, row: Row, key: str, known: Mapping[str, T]) -> T:
    identifier = row.string(key)
    if identifier not in known:
        raise RowError(
            f'there is no {what} "{identifier}"; a spreadsheet may have changed it: '
            "import the column as text"
        )
    return known[identifier]


def _read_offset(row: Row, key: str) -> int:
    written = row.string(key).strip()
    if not re.fullmatch(r"[0-9]{1,16}", written):
        raise RowError(f'"{key}" must be a whole number, not {written[:40]!r}')
    return int(written)
