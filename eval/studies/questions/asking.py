"""Ask a model for one question and test the question, with the free tests first."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import Field, StringConstraints, ValidationError

from assay.eval.collections.answer_spans import find_answer_end
from assay.eval.collections.authoring.worksheet import trim
from assay.eval.collections.collection import GoldItem
from assay.eval.collections.traits import split_words
from assay.eval.llm.job import Ask, read_answer
from assay.eval.studies.questions.drawing import Draw, Passage
from assay.eval.studies.questions.prompts import (
    ask_again,
    ask_agrees,
    ask_answered,
    ask_question,
    ask_recall,
)
from assay.eval.studies.questions.words import (
    MOST_SHARED,
    find_leak,
    find_shared,
    measure_overlap,
)
from assay.retrievers.base import Chunk, Document, cut
from assay.retrievers.base.quotes import Locator, QuoteSpan
from assay.retrievers.language_models.base import Prompt
from assay.retrievers.settings import Settings, explain_error

Text = Annotated[str, StringConstraints(strip_whitespace=True)]
SHOWN = 200  # characters of a description of an invalid reply


class Quote(Settings):
    """Words of a passage, and how much of the answer they hold: 1 to 3."""

    quote: Text = Field(min_length=1)
    grade: int = Field(ge=1, le=3)


class QuestionReply(Settings):
    """A question, "" if none can be asked, with the words that answer it."""

    question: Text
    quotes: list[Quote] = Field(max_length=8)


class AnswerCheck(Settings):
    """The reply on an answer: True if a text answers a question."""

    answered: bool


class MemoryAnswer(Settings):
    """An answer from memory, "" for none."""

    answer: Text


class AgreementCheck(Settings):
    """The reply on an agreement: True if a text confirms an answer."""

    agrees: bool


R = TypeVar("R", QuestionReply, AnswerCheck, MemoryAnswer, AgreementCheck)


class UnreadableError(Exception):
    """A reply that is not of the required form; the message gives the reason in one phrase."""


def read_reply(text: str, form: type[R]) -> R:
    """Parse a reply. A code fence around the object is ignored, and nothing else.

    Raises UnreadableError.
    """
    bare = text.strip()
    if bare.startswith("```") and bare.endswith("```"):
        bare = bare.strip("`").removeprefix("json")
    try:
        value: Any = json.loads(bare)
    except (ValueError, RecursionError):
        raise UnreadableError("it was not one JSON object") from None
    try:
        return form.model_validate(value)
    except ValidationError as error:
        raise UnreadableError(cut(explain_error(error), SHOWN)) from None


# Reasons for dropping a question, in the order of the tests.
Cause: TypeAlias = Literal[
    "no reply", "malformed", "none to ask", "not of its type", "quote not found", "heading alone",
    "leak", "copied", "same words", "not answered", "known already", "answered elsewhere",
    "duplicate",
]  # fmt: skip
MEANING: Mapping[Cause, str] = {
    "no reply": "the model refused, was cut off, or could not read so much",
    "malformed": "twice the reply was not the required JSON",
    "none to ask": "the model found nothing of this type to ask",
    "not of its type": "no identifier of the passage, or too short for a long question",
    "quote not found": "a quote is not in the passage, word for word",
    "heading alone": "a quote is a heading, and not the text below it that answers",
    "leak": "it speaks of the passage it was made from",
    "copied": "it repeats too many runs of three words of the passage",
    "same words": "asked again, it still shares more words with the passage than people's do",
    "not answered": "the quotes alone do not answer it, as the model says",
    "known already": "the model answers it without the documents, and the quotes say so too",
    "answered elsewhere": "a no_answer question that its passage answers, or one that search finds",
    "duplicate": "too near to an earlier question",
}
SAME_WORDS = (
    "nearly all words of its question are in the passage; ask for the same in the words of someone "
    "who has not read it"
)
ALIKE = 12  # least words of a quote that counts as the same answer in other documents


@dataclass(frozen=True, slots=True)
class DrawOutcome:
    """The outcome of a draw: the question with its gold, or the `cause` for which it was dropped.

    `overlap` is the share of the question's three-word sequences that are in its passages;
    `detail` describes the cause further. It was `asked_again` if the first question had more of the
    passage's words than people's questions have.
    """

    draw: Draw
    question: str = ""
    gold: tuple[GoldItem, ...] = ()
    overlap: float = 0.0
    cause: Cause | None = None
    detail: str = ""
    asked_again: bool = False


class QuestionDroppedError(Exception):
    """The error for a question that does not pass a test."""

    def __init__(self, cause: Cause, detail: str = "") -> None:
        super().__init__(cause)
        self.cause = cause
        self.detail = detail


@dataclass(frozen=True)
class Examiner:
    """An examiner that asks for questions and tests them.

    `search` returns the best passages of all documents for a question; a question is dropped if its
    share of copied three-word sequences is above `max_overlap`. Safe to call from several threads
    if `ask` and `search` are.
    """

    ask: Ask
    documents: Mapping[str, Document]
    search: Callable[[str], Sequence[Chunk]]
    max_overlap: float

    def examine(self, draw: Draw, query_id: str) -> DrawOutcome:
        """Return the outcome of a draw. Raises AssayError if no further call can succeed."""
        question, overlap, again = "", 0.0, False
        try:
            written = self._read(ask_question(draw), QuestionReply)
            if again := _leaks(draw, written.question):
                other = ask_again(ask_question(draw), SAME_WORDS)
                written = self._read(other, QuestionReply)
            question = " ".join(written.question.split())
            places = self._locate(draw, question, written.quotes)
            overlap = max(measure_overlap(question, passage.text) for passage in draw.passages)
            self._check_words(draw, question, overlap)
            if draw.kind.answered:
                self._check_quotes(question, [self._read_text(place) for place, _ in places])
            else:
                places = self._check_unanswered(draw, question)
        except QuestionDroppedError as reason:
            return DrawOutcome(draw, question, (), overlap, reason.cause, reason.detail, again)
        best: dict[QuoteSpan, int] = {}
        for place, grade in places:
            for one in self._find_alike(place) if grade else [place]:
                best[one] = max(grade, best.get(one, 0))
        gold = tuple(make_gold(query_id, one, grade) for one, grade in best.items())
        return DrawOutcome(draw, question, gold, overlap, asked_again=again)

    def _locate(
        self, draw: Draw, question: str, quotes: Sequence[Quote]
    ) -> list[tuple[QuoteSpan, int]]:
        """Return the places of the quotes in the drawn passages, with their grades."""
        if not question:
            raise QuestionDroppedError("none to ask")
        if not draw.kind.answered:
            return []
        if why := draw.kind.misses(question, " ".join(one.text for one in draw.passages)):
            raise QuestionDroppedError("not of its type", why)
        found: list[tuple[QuoteSpan, int]] = []
        missing = set(draw.passages)
        for quote in quotes:
            inside = [
                (passage, place)
                for passage in draw.passages
                for place in self._find_within(passage, quote.quote)
            ]
            if not inside:
                raise QuestionDroppedError("quote not found", quote.quote)
            passage, place = inside[0]
            if quote.grade and find_answer_end(
                self.documents[place.doc_id], place.start, place.end
            ):
                raise QuestionDroppedError("heading alone", quote.quote)
            missing.discard(passage)
            found.append((place, quote.grade))
        if missing:
            raise QuestionDroppedError("quote not found", "a passage is not quoted")
        return found

    def _find_within(self, passage: Passage, quote: str) -> Iterator[QuoteSpan]:
        """Yield the places of `quote` in a passage, as places of its document."""
        only = Document(passage.doc_id, passage.text)
        for place in Locator({only.id: only}).find(quote):
            start, end = passage.start + place.start, passage.start + place.end
            yield QuoteSpan(passage.doc_id, start, end)

    def _find_alike(self, place: QuoteSpan) -> Iterator[QuoteSpan]:
        """Yield a place, and for a long quote its places in other documents."""
        yield place
        text = self._read_text(place)
        if len(split_words(text)) >= ALIKE:
            for doc_id, document in self.documents.items():
                start = document.text.find(text)
                if doc_id != place.doc_id and start >= 0:
                    yield QuoteSpan(doc_id, start, start + len(text))

    def _check_words(self, draw: Draw, question: str, overlap: float) -> None:
        """Raise QuestionDroppedError if the question mentions its passages or copies too much."""
        if leak := find_leak(question):
            raise QuestionDroppedError("leak", leak)
        if overlap > self.max_overlap and not draw.kind.copies:
            raise QuestionDroppedError("copied", f"{overlap:.2f}")
        if _leaks(draw, question):
            raise QuestionDroppedError("same words")

    def _check_quotes(self, question: str, quotes: Sequence[str]) -> None:
        """Raise QuestionDroppedError unless the quotes are needed and enough for an answer."""
        if not self._read(ask_answered(question, quotes, expected=True), AnswerCheck).answered:
            raise QuestionDroppedError("not answered")
        answer = self._read(ask_recall(question), MemoryAnswer).answer
        if answer and self._read(ask_agrees(question, answer, quotes), AgreementCheck).agrees:
            raise QuestionDroppedError("known already", answer)

    def _check_unanswered(self, draw: Draw, question: str) -> list[tuple[QuoteSpan, int]]:
        """Return the drawn passages and those that search finds, with grade 0.

        Raises QuestionDroppedError if they answer the question.
        """
        places = [QuoteSpan(one.doc_id, *trim(one.text, one.start)) for one in draw.passages]
        for chunk in self.search(question):
            place = QuoteSpan(chunk.doc_id, *trim(chunk.text, chunk.start))
            if not any(_share(place, other) for other in places):
                places.append(place)
        texts = [self._read_text(place) for place in places]
        if self._read(ask_answered(question, texts, expected=False), AnswerCheck).answered:
            raise QuestionDroppedError(
                "answered elsewhere", ", ".join(place.doc_id for place in places)
            )
        return [(place, 0) for place in places]

    def _read_text(self, place: QuoteSpan) -> str:
        return self.documents[place.doc_id].text[place.start : place.end]

    def _read(self, prompt: Prompt, form: type[R]) -> R:
        """Return the reply to `prompt`; ask once more if the first reply is invalid."""
        try:
            return read_reply(self._say(prompt), form)
        except UnreadableError as problem:
            again = ask_again(prompt, str(problem))
        try:
            return read_reply(self._say(again), form)
        except UnreadableError as problem:
            raise QuestionDroppedError("malformed", str(problem)) from None

    def _say(self, prompt: Prompt) -> str:
        text, problem = read_answer(self.ask, prompt)
        if problem:
            raise QuestionDroppedError("no reply", problem)
        return text


def make_gold(query_id: str, place: QuoteSpan, grade: int) -> GoldItem:
    """Return the gold item of a span."""
    name = f"{place.doc_id}[{place.start}:{place.end}]"
    return GoldItem(query_id, name, place.doc_id, place.start, place.end, grade)


def _leaks(draw: Draw, question: str) -> bool:
    """Return True if a question has more of its passages' words than people's questions have."""
    shared = find_shared(question, (one.text for one in draw.passages))
    return shared > MOST_SHARED and not draw.kind.copies


def _share(one: QuoteSpan, other: QuoteSpan) -> bool:
    """Return True if two places overlap."""
    return one.doc_id == other.doc_id and one.start < other.end and other.start < one.end
