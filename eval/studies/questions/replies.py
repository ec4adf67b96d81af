"""The replies of a language model: strict JSON of a known form, or a phrase that says why not."""

import json
from typing import Annotated, Any, TypeVar

from pydantic import Field, StringConstraints, ValidationError

from assay.retrievers.base import cut
from assay.retrievers.settings import Settings, explain_error

Text = Annotated[str, StringConstraints(strip_whitespace=True)]
SHOWN = 200  # characters of what is wrong with a reply


class Quote(Settings):
    """Words of a passage, and how much of the answer they hold: 1 to 3."""

    quote: Text = Field(min_length=1)
    grade: int = Field(ge=1, le=3)


class QuestionReply(Settings):
    """A question, "" where none can be asked, with the words that answer it."""

    question: Text
    quotes: list[Quote] = Field(max_length=8)


class AnswerCheck(Settings):
    """Whether a text answers a question."""

    answered: bool


class MemoryAnswer(Settings):
    """An answer from memory, "" for none."""

    answer: Text


class AgreementCheck(Settings):
    """Whether a text confirms an answer."""

    agrees: bool


R = TypeVar("R", QuestionReply, AnswerCheck, MemoryAnswer, AgreementCheck)


class UnreadableError(Exception):
    """A reply that is not of the form asked for; the message says why, in one phrase."""


def read_reply(text: str, form: type[R]) -> R:
    """Return what a reply says. A code fence around the object is passed over; nothing else is.

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
