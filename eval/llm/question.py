"""A question to a language model and its reply, whoever asks, and whatever model answers."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """One call: `beginning` and `rest` with a line break between.

    `shared` says that many calls begin so. `example` is an answer of the usual form and length.
    """

    beginning: str
    rest: str
    example: str
    shared: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answered, or in one phrase why it did not."""

    text: str
    problem: str = ""


Ask = Callable[[Question], Reply]


class NoAnswerError(Exception):
    """A question that has no answer that can be used; the message says why, in one phrase."""
