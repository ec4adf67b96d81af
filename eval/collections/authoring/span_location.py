"""Placing the passages that questions quote: from rows as written to judged queries."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from assay.eval.collections.answer_spans import find_answer_end, is_unsearched
from assay.eval.collections.authoring.questions import WHY, Question
from assay.eval.collections.collection import GoldItem, Query
from assay.eval.collections.formats.rows import Row, parse_grade
from assay.eval.collections.groups import Group, find_groups
from assay.eval.collections.living.selectors import (
    SELECTOR,
    flatten,
    list_headings,
    make_selectors,
    sketch,
)
from assay.retrievers.base import Document, cut
from assay.retrievers.base.quotes import Locator, QuoteSpan

SHOWN = 300  # characters of the nearest passage


@dataclass(frozen=True, slots=True)
class UnlocatedQuestion:
    """A question whose answer could not be placed: why, and what it seems to mean.

    That is the document `nearest`, the one that the question names if there is one, and in it the
    paragraph `nearest_text`, which begins on the line `nearest_line`; "" and 0 where nothing shares
    a word with the quote.
    """

    question: Question
    why: str
    nearest: str
    nearest_line: int = 0
    nearest_text: str = ""

    def as_row(self) -> dict[str, Any]:
        """Return the question as it was asked, with the cause: a row that can be mended."""
        nearest = {"nearest": self.nearest, "nearest_line": self.nearest_line or ""}
        passage = {"nearest_text": self.nearest_text}
        return {**asdict(self.question), WHY: self.why, **nearest, **passage}


@dataclass(slots=True)
class JudgedQuestions:
    """Queries and judgments as rows of the native form, and what could not be placed."""

    queries: dict[str, dict[str, Any]] = field(default_factory=dict)
    judgments: list[dict[str, Any]] = field(default_factory=list)
    unlocated: list[UnlocatedQuestion] = field(default_factory=list)

    @property
    def groups(self) -> dict[str, Group]:
        """The group of each query, by its id: the document of its main passage."""
        gold: dict[str, list[GoldItem]] = {}
        for row in self.judgments:
            query, path = row["query_id"], row["path"]
            span = row.get("start", 0), row.get("end", 1)
            item = GoldItem(query, path, path, *span, row.get("grade", 1))
            gold.setdefault(query, []).append(item)
        queries = (Query(id_, row["text"]) for id_, row in self.queries.items())
        return find_groups(queries, gold)


def locate(
    questions: list[Question],
    documents: Mapping[str, Document],
    known: JudgedQuestions | None = None,
) -> JudgedQuestions:
    """Place every question's passage in `documents`; return `known` queries with them.

    Rows of one id, or without ids of one text, are one query with several judgments.
    """
    locator = Locator(documents)
    known = known or JudgedQuestions()
    judged = JudgedQuestions(dict(known.queries), list(known.judgments))
    ids = _assign_ids(questions, judged.queries)
    grades = {
        (row["query_id"], row["path"], *_span(row, documents)): row.get("grade", 1)
        for row in judged.judgments
    }
    for question in questions:
        try:
            place = _place(question, locator, documents)
            grade = _grade(question)
            if grade and find_answer_end(documents[place.doc_id], place.start, place.end):
                raise _NotPlacedError(
                    "the quote is a heading alone, so the text below it would not count as an "
                    "answer; quote that text"
                )
            query_id = ids[question.key]
            query = judged.queries.get(query_id)
            if query and query["text"] != question.question:
                raise _NotPlacedError(f'id "{query_id}" is another question\'s; ids must be unique')
            i = (query_id, place.doc_id, place.start, place.end)
            known_place = i in grades
            if grades.setdefault(i, grade) != grade:
                raise _NotPlacedError(f"judged before with grade {grades[i]}; allowed: one grade")
        except _NotPlacedError as error:
            judged.unlocated.append(_miss(question, str(error), locator, documents))
            continue
        judged.queries[query_id] = _query_row(query_id, question)
        if not known_place:
            judgment = _judgment_row(query_id, place, grade, documents, bool(question.quote))
            judged.judgments.append(judgment)
    return judged


class _NotPlacedError(Exception):
    """A question cannot be used; the message says why, in words for its author."""


def _miss(
    question: Question, why: str, locator: Locator, documents: Mapping[str, Document]
) -> UnlocatedQuestion:
    """Return a question that could not be placed, with what in the documents is nearest to it."""
    text = question.quote or question.question
    nearest = _name_document(question, locator) or locator.nearest(text)
    place = locator.nearest_passage(text, nearest) if nearest else None
    if place is None:
        return UnlocatedQuestion(question, why, "")
    passage = documents[nearest].text[place.start : place.end]
    return UnlocatedQuestion(question, why, nearest, locator.line(place), cut(passage, SHOWN))


def _place(question: Question, locator: Locator, documents: Mapping[str, Document]) -> QuoteSpan:
    if not question.question:
        raise _NotPlacedError("no question")
    within = _find_document(question, locator)
    if not question.quote:
        if not within:
            raise _NotPlacedError("neither a quote nor a document is given")
        return QuoteSpan(within[0], 0, len(documents[within[0]].text))
    places = _find_start(question, within, documents) or locator.find(question.quote, within)
    if not places:
        where = f"in {within[0]}" if within else "in any document"
        others = _show(locator.find(question.quote), locator) if within else ""
        elsewhere = f", but at {others}; name that document" if others else ""
        raise _NotPlacedError(f"the quote does not occur {where}{elsewhere}")
    found = places
    places = [i for i in found if not is_unsearched(documents[i.doc_id], i.start, i.end)]
    if not places:
        raise _NotPlacedError(
            f"the quote occurs in frontmatter alone ({_show(found, locator)}), which is not "
            "searched; quote text below it"
        )
    if len(places) > 1:
        several = len({place.doc_id for place in places}) > 1
        mend = "quote more or give the document" if several else "quote more"
        shown = _show(places, locator)
        raise _NotPlacedError(f"the quote occurs {len(places)} times ({shown}); {mend}")
    return places[0]


def _find_start(
    question: Question, within: Sequence[str], documents: Mapping[str, Document]
) -> list[QuoteSpan]:
    """Return the place that `start` names, in a list; none where the quote does not begin there."""
    if not question.start:
        return []
    if not question.start.isdecimal():
        told = cut(question.start)
        raise _NotPlacedError(f"start must be a whole number from 0, not {told!r}")
    if not within:
        raise _NotPlacedError("start is given without a document")
    start = int(question.start)
    if not documents[within[0]].text.startswith(question.quote, start):
        return []
    return [QuoteSpan(within[0], start, start + len(question.quote))]


def _show(places: Sequence[QuoteSpan], locator: Locator) -> str:
    """Return up to three places by document and line."""
    shown = [f"{place.doc_id}:{locator.line(place)}" for place in places[:3]]
    return ", ".join([*shown, *(["…"] if len(places) > 3 else [])])


def _name_document(question: Question, locator: Locator) -> str:
    """Return the one document that a question names; "" if there is none."""
    if not question.document:
        return ""
    found = locator.find_documents(question.document)
    return found[0] if len(found) == 1 else locator.find_end(question.document)


def _find_document(question: Question, locator: Locator) -> list[str]:
    """Return the document that a question names, in a list; none where it names none."""
    if not question.document:
        return []
    found = locator.find_documents(question.document)
    if len(found) == 1:
        return found
    end = "" if found else locator.find_end(question.document)
    if end and question.quote:  # which tells whether it is the one
        return [end]
    what = f"{len(found)} documents are" if found else "no document is"
    meant = f', as "{end}"' if end else ""
    raise _NotPlacedError(f'{what} called "{question.document}"; give its path{meant}')


def _grade(question: Question) -> int:
    if not question.grade:
        return 1
    grade = parse_grade(question.grade)
    if grade is None:
        told = cut(question.grade)
        raise _NotPlacedError(f"grade must be a whole number from 0, not {told!r}")
    return grade


def _span(row: Mapping[str, Any], documents: Mapping[str, Document]) -> tuple[int, int]:
    whole = len(documents[row["path"]].text) if row["path"] in documents else 0
    flat = flatten(Row(Path(), 0, row)).values
    return flat.get("start", 0), flat.get("end", whole)


def _assign_ids(
    questions: list[Question], known: Mapping[str, Mapping[str, Any]]
) -> dict[tuple[str, str], str]:
    """Return the query id by question key: the question's own, that of a known query of the same
    text, else q1, q2 and so on.
    """
    taken = {question.id for question in questions} | known.keys()
    by_text = {str(query["text"]): name for name, query in known.items()}
    keys = dict.fromkeys(question.key for question in questions)
    unnamed = sum(kind == "text" for kind, _ in keys) + len(known)
    names = (f"q{number:0{len(str(unnamed))}}" for number in itertools.count(1))
    free = (name for name in names if name not in taken)
    return {key: key[1] if key[0] == "id" else by_text.get(key[1]) or next(free) for key in keys}


def _query_row(query_id: str, question: Question) -> dict[str, Any]:
    row = {"_id": query_id, "text": question.question}
    return row | {"type": question.type} if question.type else row


def _judgment_row(
    query_id: str, place: QuoteSpan, grade: int, documents: Mapping[str, Document], is_span: bool
) -> dict[str, Any]:
    text = documents[place.doc_id].text
    row = {"query_id": query_id, "path": place.doc_id, "grade": grade}
    if not is_span:
        return row | {"lines": sketch(text)}
    row[SELECTOR] = make_selectors(text, place.start, place.end)
    headings = list_headings(place.doc_id, text, place.start)
    return row | ({"headings": headings} if headings else {})
