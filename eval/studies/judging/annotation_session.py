"""The requests of the judging page, as JSON values in and out, for one judge."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from assay.eval.collections.authoring.worksheet import Pair
from assay.eval.report.page import render_page
from assay.eval.studies.judging.agreement import compare_judges, find_disagreements
from assay.eval.studies.judging.grades import GradeFile
from assay.eval.studies.judging.sheet import Sheet
from assay.retrievers.base import AssayError

LONGEST_NOTE = 4000  # characters


class AnnotationSession:
    """The session of a judge. Raises AssayError for a request that the page must not send.

    It shows the grades of other judges only for pairs that this judge has graded too.
    """

    def __init__(self, sheet: Sheet, grades: GradeFile, judge: str, seed: int) -> None:
        self._sheet = sheet
        self._grades = grades
        self._judge = judge
        self._order = sheet.order(judge, seed)

    @property
    def page(self) -> str:
        """The judging page as HTML."""
        return render_page(
            "studies/judging/templates/judging.html.j2",
            (
                "studies/judging/templates/requests.js",
                "studies/judging/templates/judging_markdown.js",
                "studies/judging/templates/judging.js",
                "studies/judging/templates/judging_span.js",
            ),
            ("studies/judging/templates/judging.css",),
            requests="'self'",
        )

    @property
    def reads(self) -> Mapping[str, Callable[[dict[str, str]], dict[str, Any]]]:
        """The functions that answer GET requests, by address."""
        return {
            "/state": lambda _: self.state(),
            "/pair": lambda query: self.pair(query.get("id", "")),
            "/agreement": lambda _: self.agreement(),
        }

    @property
    def writes(self) -> Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        """The functions that answer POST requests, by address."""
        return {"/grade": self.grade, "/note": self.note, "/undo": self.undo}

    def state(self) -> dict[str, Any]:
        """Return the values that all pairs share, and the ids of the graded pairs."""
        return {
            "judge": self._judge,
            "title": self._sheet.title,
            "guidelines": self._sheet.guidelines,
            "highest": self._sheet.highest,
            "spans": self._sheet.spans,
            "order": self._order,
            "graded": self._list_graded(),
        }

    def pair(self, id_: str) -> dict[str, Any]:
        """Return a pair with this judge's grade, span (characters of the passage) and note."""
        pair = self._find(id_)
        mine = self._grades.read_grades().get(id_, {}).get(self._judge)
        span = mine.span if mine else None
        return self._sheet.show(pair) | {
            "grade": mine.grade if mine else None,
            "span": [i - pair.start for i in span] if span else None,
            "note": self._grades.read_notes().get(id_, {}).get(self._judge, ""),
        }

    def grade(self, given: dict[str, Any]) -> dict[str, Any]:
        """Store a grade: `pair`, `grade`, and `span` or null; `settles` decides between judges."""
        pair = self._find(given.get("pair"))
        grade = given.get("grade")
        if type(grade) is not int or not 0 <= grade <= self._sheet.highest:
            raise AssayError(f"grade must be a whole number from 0 to {self._sheet.highest}")
        settles = given.get("settles") is True
        if settles and pair.digest not in self._list_open():
            raise AssayError("this pair is not one that two judges grade differently")
        span = self._read_span(pair, given.get("span")) if grade else None
        self._grades.add(pair.digest, self._judge, grade, span, settles=settles)
        return {"graded": self._list_graded()}

    def note(self, given: dict[str, Any]) -> dict[str, Any]:
        """Store the note on a pair."""
        pair, note = self._find(given.get("pair")), given.get("note")
        if not isinstance(note, str) or len(note) > LONGEST_NOTE:
            raise AssayError(f"note must be a text of at most {LONGEST_NOTE} characters")
        if re.search(r"[\ud800-\udfff]", note):
            raise AssayError("note must be Unicode text, without half of a surrogate pair")
        self._grades.note(pair.digest, self._judge, note)
        return {}

    def undo(self, given: dict[str, Any]) -> dict[str, Any]:
        """Undo this judge's latest grade; `pair` in the result is the pair it was for, or null."""
        return {"pair": self._grades.undo(self._judge), "graded": self._list_graded()}

    def agreement(self) -> dict[str, Any]:
        """Return the agreement with every other judge, and the pairs to settle."""
        graded, settled = self._grades.read_grades(), self._grades.read_settled()
        shown = {id_: by for id_, by in graded.items() if id_ in self._sheet.by_digest}
        return {
            "judges": [
                {"judge": other} | {key: getattr(found, key) for key in found.__slots__}
                for other, found in compare_judges(shown, self._judge).items()
            ],
            "disagreements": [
                {
                    "pair": id_,
                    "query": self._sheet.by_digest[id_].query,
                    "document": self._sheet.by_digest[id_].doc_id,
                    "grades": {judge: one.grade for judge, one in shown[id_].items()},
                    "settled": settled[id_].grade if id_ in settled else None,
                }
                for id_ in find_disagreements(shown)
                if self._judge in shown[id_]
            ],
        }

    def _find(self, id_: object) -> Pair:
        pair = self._sheet.by_digest.get(id_) if isinstance(id_, str) else None
        if pair is None:
            raise AssayError("there is no such pair")
        return pair

    def _read_span(self, pair: Pair, given: object) -> tuple[int, int] | None:
        if given is None:
            return None
        if not isinstance(given, list) or [type(i) for i in given] != [int, int]:
            raise AssayError("span must be null or two whole numbers")
        return self._sheet.locate(pair, *given)

    def _list_graded(self) -> list[str]:
        graded = self._grades.read_grades()
        return [id_ for id_ in self._order if self._judge in graded.get(id_, {})]

    def _list_open(self) -> set[str]:
        graded = self._grades.read_grades()
        return {id_ for id_ in find_disagreements(graded) if self._judge in graded[id_]}
