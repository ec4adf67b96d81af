"""The types of questions, and their descriptions in prompts."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.eval.collections.check import NO_ANSWER
from assay.eval.collections.traits import split_words
from assay.eval.studies.questions.words import find_identifiers
from assay.retrievers.base import AssayError
from assay.retrievers.base.suggestions import suggest

LONG = 25  # words from which a question is a long one


@dataclass(frozen=True, slots=True)
class QuestionKind:
    """A type of question.

    Attributes:
        name: The name of the type.
        wanted: The description of the type in the prompt.
        passages: The number of passages in the prompt.
        copies: True if questions of the type have to repeat words of the passage.
    """

    name: str
    wanted: str
    passages: int = 1
    copies: bool = False

    @property
    def answered(self) -> bool:
        """True if the passage answers the question."""
        return self.name != NO_ANSWER

    def suits(self, text: str) -> bool:
        """Return True if a question of this type can be asked about a passage."""
        return self.name != "exact_id" or bool(find_identifiers(text))

    def misses(self, question: str, text: str) -> str:
        """Return the reason why `question` is not of this type; "" if it may be."""
        if self.name == "exact_id" and not find_identifiers(question) & find_identifiers(text):
            return "holds no identifier of the passage"
        if self.name == "long_question" and len(split_words(question)) < LONG:
            return f"has fewer than {LONG} words"
        return ""


_ALL = (
    QuestionKind("factual", "A question about one fact that the passage states."),
    QuestionKind(
        "how_to",
        "A question of somebody who has something to do, where the passage says how it is done.",
    ),
    QuestionKind(
        "vocabulary_mismatch",
        "A question in other words than the passage's: everyday words and paraphrases of somebody "
        "who does not know its terms.",
    ),
    QuestionKind(
        "comparison",
        "A question that only the two passages together answer: how two things differ, or what "
        "holds of both.",
        passages=2,
    ),
    QuestionKind(
        "exact_id",
        "What somebody types who has an identifier that stands in the passage (the number of a "
        "section, an error code, a product, a function) and wants to know what it is about. It "
        "repeats the identifier exactly, and little else of the passage.",
        copies=True,
    ),
    QuestionKind(
        "definition", "A question what a term means that the passage defines or explains."
    ),
    QuestionKind(
        "long_question",
        f"A question of {LONG + 10} to 80 words, as somebody writes it in a letter: the situation "
        "first, then what they need to know.",
    ),
    QuestionKind(
        NO_ANSWER,
        "A question on the subject of the passage which one would expect documents like this to "
        "answer, and which the passage does not answer.",
    ),
)
KINDS = {kind.name: kind for kind in _ALL}


def choose_kinds(names: Sequence[str]) -> list[QuestionKind]:
    """Return the types of `names`, each once; all without any. Raises AssayError."""
    for name in names:
        if name not in KINDS:
            raise AssayError(
                f"--types: {name!r}: there is no such type; allowed: {', '.join(KINDS)}"
                f"{suggest(name, KINDS)}"
            )
    return [KINDS[name] for name in dict.fromkeys(names)] or list(_ALL)
