"""Making a collection of somebody's own documents and questions."""

import csv
import io
import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval.collections.authoring import copies
from eval.collections.authoring.questions import Question, read_questions
from eval.collections.authoring.templates import card_text, pipeline_text
from eval.collections.card import FILE
from eval.collections.card_files import parse_card, read_card
from eval.collections.digests import seal, write_text
from eval.collections.formats.native import NativeCard, NativeSource, make_document
from eval.collections.problems import Problems
from retrievers.base import AssayError, Document
from retrievers.base.quotes import Locator, Place

QUERIES, JUDGMENTS = "queries.jsonl", "judgments.jsonl"
UNLOCATED, PIPELINE = "unlocated.csv", "pipeline.yaml"


@dataclass(frozen=True, slots=True)
class Unlocated:
    """A question whose answer could not be placed: why, and the document it seems to mean."""

    line: int
    question: str
    why: str
    nearest: str


@dataclass(slots=True)
class Judged:
    """Queries and judgments as rows of the native form, and what could not be placed."""

    queries: dict[str, dict[str, Any]] = field(default_factory=dict)
    judgments: list[dict[str, Any]] = field(default_factory=list)
    unlocated: list[Unlocated] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Authored:
    """What was made, and where."""

    name: str
    card: Path
    pipeline: Path
    documents: int
    judged: Judged


@dataclass(frozen=True, slots=True)
class Origin:
    """Documents below `folder`: its .md and .txt files, which stay there, or else `texts`.

    `texts` are written into the collection, by id: what became of files in other formats.
    """

    folder: Path
    texts: Mapping[str, str] | None = None

    def read(self) -> dict[str, Document]:
        """Return the documents by id. Raises AssayError when there are none."""
        if self.texts is not None:
            return {name: make_document(name, text) for name, text in self.texts.items()}
        where = str(self.folder.absolute())
        card = NativeCard(name="new", title="", format="native", documents=where)
        return NativeSource(card, Path(), Problems(strict=True)).documents()


def author(
    origin: Origin, questions: Path | None, name: str | None, output: Path | None, *, force: bool
) -> Authored:
    """Make a native collection of the documents of `origin`.

    It goes to `output`, by default ./datasets/<name>; the name is by default the folder's. Without
    `questions`, queries that are there stay. Raises AssayError when there are no documents, the
    questions cannot be read, or, without `force`, when a file would be overwritten.
    """
    name = name or _slug(origin.folder.resolve().name)
    target = (output or Path("datasets") / name).absolute()
    documents = origin.read()
    judged = locate(read_questions(questions), documents) if questions else Judged()
    reference = name if target == Path("datasets").absolute() / name else str(target)
    where = _refer(origin.folder, target) if origin.texts is None else copies.FOLDER
    card = card_text(name, reference, where, questions.name if questions else "")
    parse_card(card, target / FILE)  # a wrong name stops here, before anything is written
    asked = {
        QUERIES: _jsonl(list(judged.queries.values())),
        JUDGMENTS: _jsonl(judged.judgments),
    }
    if not questions and all((target / file).exists() for file in asked):
        asked = {}
    files = {
        **asked,
        PIPELINE: pipeline_text(name, reference),
        FILE: card,  # last, since with it the folder becomes a collection
    }
    _refuse_overwriting([target / file for file in files], force)
    if origin.texts is not None:
        copies.check_copies(target, origin.folder, force)
        copies.write_copies(target, origin.texts)
    target.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        write_text(target / file, text)
    (target / UNLOCATED).unlink(missing_ok=True)
    if judged.unlocated:
        write_text(target / UNLOCATED, _table(judged.unlocated))
    seal(read_card(target / FILE))
    return Authored(name, target / FILE, target / PIPELINE, len(documents), judged)


def locate(questions: list[Question], documents: Mapping[str, Document]) -> Judged:
    """Place every question's passage in `documents`.

    Rows of one id, or without ids of one text, are one query with several judgments.
    """
    locator = Locator(documents)
    judged = Judged()
    ids = _assign_ids(questions)
    grades: dict[tuple[str, str, int, int], int] = {}
    for question in questions:
        try:
            place = _place(question, locator, documents)
            grade = _grade(question)
            query_id = ids[question.key]
            query = judged.queries.get(query_id)
            if query and query["text"] != question.question:
                raise _NotPlacedError(f'id "{query_id}" is another question\'s; ids must be unique')
            at = (query_id, place.doc_id, place.start, place.end)
            if grades.setdefault(at, grade) != grade:
                raise _NotPlacedError(f"judged before with grade {grades[at]}; allowed: one grade")
        except _NotPlacedError as error:
            nearest = locator.nearest(question.quote or question.question)
            judged.unlocated.append(
                Unlocated(question.line, question.question, str(error), nearest)
            )
            continue
        judged.queries[query_id] = _query_row(query_id, question)
        judgment = _judgment_row(query_id, place, grade, documents, bool(question.quote))
        if judgment not in judged.judgments:
            judged.judgments.append(judgment)
    return judged


class _NotPlacedError(Exception):
    """A question cannot be used; the message says why, in words for its author."""


def _place(question: Question, locator: Locator, documents: Mapping[str, Document]) -> Place:
    if not question.question:
        raise _NotPlacedError("no question")
    within = locator.find_documents(question.document) if question.document else []
    if question.document and len(within) != 1:
        what = f"{len(within)} documents are" if within else "no document is"
        raise _NotPlacedError(f'{what} called "{question.document}"; give its path')
    if not question.quote:
        if not within:
            raise _NotPlacedError("neither a quote nor a document is given")
        return Place(within[0], 0, len(documents[within[0]].text))
    places = locator.find(question.quote, within)
    if not places:
        where = f"in {within[0]}" if within else "in any document"
        raise _NotPlacedError(f"the quote does not occur {where}")
    if len(places) > 1:
        shown = ", ".join(f"{place.doc_id}:{locator.line(place)}" for place in places[:3])
        more = ", …" if len(places) > 3 else ""
        mend = "quote more" if within else "quote more or give the document"
        raise _NotPlacedError(f"the quote occurs {len(places)} times ({shown}{more}); {mend}")
    return places[0]


def _grade(question: Question) -> int:
    if not question.grade:
        return 1
    if not re.fullmatch(r"\d+", question.grade):
        raise _NotPlacedError(f"grade must be a whole number from 0, not {question.grade!r}")
    return int(question.grade)


def _assign_ids(questions: list[Question]) -> dict[tuple[str, str], str]:
    """Return the query id by question key: the question's own, else q1, q2 and so on."""
    taken = {question.id for question in questions}
    keys = dict.fromkeys(question.key for question in questions)
    unnamed = sum(kind == "text" for kind, _ in keys)
    names = (f"q{number:0{len(str(unnamed))}}" for number in itertools.count(1))
    free = (name for name in names if name not in taken)
    return {key: key[1] if key[0] == "id" else next(free) for key in keys}


def _query_row(query_id: str, question: Question) -> dict[str, Any]:
    row = {"_id": query_id, "text": question.question}
    return row | {"type": question.type} if question.type else row


def _judgment_row(
    query_id: str, place: Place, grade: int, documents: Mapping[str, Document], is_span: bool
) -> dict[str, Any]:
    if not is_span:
        return {"query_id": query_id, "path": place.doc_id, "grade": grade}
    text = documents[place.doc_id].text[place.start : place.end]
    span = {"start": place.start, "end": place.end, "text": text}
    return {"query_id": query_id, "path": place.doc_id, **span, "grade": grade}


def _slug(folder_name: str) -> str:
    slug = re.sub(r"[^a-z0-9_.]+", "-", folder_name.casefold()).strip("-._")
    if not slug:
        raise AssayError(f"{folder_name}: gives no name; say --name NAME")
    return slug


def _refer(folder: Path, target: Path) -> str:
    """Return the path of `folder` as the card in `target` shall write it: relative when both lie
    below the current directory, so that they can move together, else absolute.
    """
    here, there = Path.cwd(), folder.resolve()
    if there.is_relative_to(here) and target.is_relative_to(here):
        up = [".."] * len(target.relative_to(here).parts)
        return Path(*up, there.relative_to(here)).as_posix()
    return str(there)


def _refuse_overwriting(paths: list[Path], force: bool) -> None:
    there = [path for path in paths if path.exists()]
    if there and not force:
        raise AssayError(f"{there[-1]}: is there already; --force overwrites it")


def _jsonl(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _table(unlocated: list[Unlocated]) -> str:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(("line", "question", "why", "nearest"))
    writer.writerows((item.line, item.question, item.why, item.nearest) for item in unlocated)
    return buffer.getvalue()
