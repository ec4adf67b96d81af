"""Questions put to a language model, for real or for an estimate."""

from assay.eval.llm.question import NoAnswerError, Question, Reply
from assay.retrievers.language_models.answers import KeptAnswer
from assay.retrievers.language_models.base import Prompt
from assay.retrievers.language_models.client import LanguageModelClient
from assay.retrievers.language_models.estimates import DryRun
from assay.retrievers.services.errors import TooLongError

CUT = "an answer was cut off at --max-tokens"


class Asker(LanguageModelClient):
    """Answers questions by calls to a model."""

    def __call__(self, question: Question) -> Reply:
        """Return the answer to `question`, kept or new.

        Raises NoAnswerError where it is longer than the model can read, and AssayError once
        stopped.
        """
        prompt = Prompt(question.beginning, question.rest, question.shared)
        try:
            return _read(self.ask(prompt))
        except TooLongError:
            raise NoAnswerError("a prompt is longer than the model can read") from None


class Estimator(DryRun):
    """Answers questions by their own examples, unless the model's answer is kept.

    A provider's cache of prompts is left out of account: it makes the cost lower.
    """

    def __call__(self, question: Question) -> Reply:
        """Return the kept answer, or the example. Not safe to call from several threads."""
        return _read(self.ask(Prompt(question.beginning, question.rest), question.example))


def _read(answer: KeptAnswer) -> Reply:
    if answer.ending == "refusal":
        return Reply("", f"the model refused: {answer.note}")
    return Reply(answer.text, CUT if answer.ending == "length" else "")
