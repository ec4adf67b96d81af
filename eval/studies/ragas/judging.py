"""The metrics of ragas that ask a language model.

The model is any function that answers a prompt; this module does not depend on its provider, its
cost or the storage of its answers.
"""

import asyncio
from typing import Any

from assay.eval.llm.job import Ask, read_answer
from assay.eval.studies.ragas.library import load
from assay.eval.studies.ragas.metrics import Metric
from assay.eval.studies.ragas.samples import Sample
from assay.eval.studies.ragas.scores import Outcome, is_score
from assay.retrievers.language_models.base import Prompt

UNREADABLE = "a reply of the model was not the required JSON"
RESPOND = (
    "Answer the question from the passages above alone, in at most three sentences. If they do not "
    "hold the answer, say so.\n\nQuestion: "
)
USUAL_RESPONSE = (
    "The passages say that the filing has to be made within thirty days, in writing, to the office "
    "that issued the permit. A late filing is accepted only if the delay was not the filer's "
    "fault. They do not say what it costs."
)
# The text that ragas puts between its instructions, which all queries share, and the query.
DIVIDE = "\nNow perform the same with the following input\n"


class NoScoreError(Exception):
    """An unusable answer of the model; the message gives the reason in one phrase."""


def settle(metric: Metric, sample: Sample) -> Outcome | None:
    """Return the outcome of a sample that needs no model; None if the model must be asked.

    A query without hits scores 0; it has no faithfulness, because there is nothing to be faithful
    to.
    """
    if metric.referenced and not sample.answer:
        return "no reference answer"
    if sample.passages:
        return None
    return 0.0 if metric.nearest else "nothing was returned"


def find_score(metric: Metric, sample: Sample, ask: Ask) -> Outcome:
    """Return the score of a sample, or the reason for none if an answer of the model is unusable.

    Raises AssayError if no further call can succeed.
    """
    try:
        return _score(metric, sample, ask)
    except NoScoreError as reason:
        return str(reason)


def _score(metric: Metric, sample: Sample, ask: Ask) -> float:
    judge = make_judge(ask)
    asked: dict[str, Any] = {
        "user_input": sample.text,
        "retrieved_contexts": list(sample.passages),
    }
    if metric.referenced:
        asked["reference"] = sample.answer
    if metric.responded:
        asked["response"] = respond(sample, ask)
    made = getattr(load().metrics.collections, metric.name)(llm=judge)
    judge.learn(made)
    try:
        value = float(asyncio.run(made.ascore(**asked)).value)
    except Exception:
        # Some metrics suppress the exceptions of their judge, others let them through.
        if judge.failure is None:
            raise
        value = 0.0
    if judge.failure is not None:
        raise judge.failure
    if not is_score(value):
        raise NoScoreError("ragas gave no score between 0 and 1")
    return value


def respond(sample: Sample, ask: Ask) -> str:
    """Return the model's answer to a query from its passages."""
    passages = "\n\n".join(f"<passage>\n{text}\n</passage>" for text in sample.passages)
    return _ask(ask, Prompt(passages, f"{RESPOND}{sample.text}", example=USUAL_RESPONSE))[0]


def _ask(ask: Ask, prompt: Prompt) -> tuple[str, str]:
    """Return an answer that is not empty, and its problem, if any. Raises NoScoreError."""
    text, problem = read_answer(ask, prompt)
    if not text:
        raise NoScoreError(problem or "an empty answer")
    return text, problem


def make_judge(ask: Ask) -> Any:
    """Return a language model for ragas that asks through `ask`.

    It keeps the first failure and makes no further call after it.
    """
    from pydantic import BaseModel, ValidationError
    from ragas.llms.base import InstructorBaseRagasLLM
    from ragas.prompt.metrics.base_prompt import BasePrompt
    from ragas.prompt.utils import extract_json

    class Judge(InstructorBaseRagasLLM):  # type: ignore[misc]
        def __init__(self) -> None:
            self.failure: Exception | None = None
            self._examples: dict[type, str] = {}

        def learn(self, metric: Any) -> None:
            """Use the examples in a metric's prompts as typical answers for estimates."""
            for prompt in vars(metric).values():
                if isinstance(prompt, BasePrompt):
                    for _, answer in prompt.examples:
                        self._examples[type(answer)] = answer.model_dump_json()

        def generate(self, prompt: str, response_model: type[BaseModel]) -> BaseModel:
            if self.failure is not None:
                raise self.failure
            try:
                return self._ask(prompt, response_model)
            except Exception as error:
                self.failure = error
                raise

        async def agenerate(self, prompt: str, response_model: type[BaseModel]) -> BaseModel:
            return self.generate(prompt, response_model)

        def _ask(self, prompt: str, response_model: type[BaseModel]) -> BaseModel:
            beginning, divide, rest = prompt.partition(DIVIDE)
            if not divide:
                beginning, _, rest = prompt.partition("\n")
            rest = divide.removeprefix("\n") + rest
            example = self._examples.get(response_model, "{}")
            text, problem = _ask(ask, Prompt(beginning, rest, bool(divide), example))
            try:
                return response_model.model_validate_json(extract_json(text))
            except ValidationError:
                raise NoScoreError(problem or UNREADABLE) from None

    return Judge()
