"""The metrics of ragas that ask a language model.

The model is whatever answers a prompt; where it comes from, what it costs and where its
answers are kept is not known here.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from assay.eval.llm.job import Ask, Asking, read_answer
from assay.eval.studies.ragas.library import load
from assay.eval.studies.ragas.metrics import Metric
from assay.eval.studies.ragas.samples import Sample
from assay.eval.studies.ragas.scores import Scores, is_score
from assay.retrievers.base import T
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
# What ragas puts between its instructions, which all queries share, and what it asks about.
DIVIDE = "\nNow perform the same with the following input\n"


class NoScoreError(Exception):
    """An answer of the model that cannot be used; the message says why, in one phrase."""


def score(metrics: Sequence[Metric], samples: Sequence[Sample], asking: Asking) -> list[Scores]:
    """Return the scores of judged `metrics`.

    A query without hits scores 0 without a question; it has no faithfulness, because there is
    nothing to be faithful to. A query for which any answer cannot be used has no score. Raises
    AssayError where no further call can succeed.
    """
    if not metrics:
        return []
    load()
    values: dict[str, dict[str, float]] = {metric.name: {} for metric in metrics}
    missing: dict[str, dict[str, str]] = {metric.name: {} for metric in metrics}
    tasks = {}
    empty = tuple(sample.query for sample in samples if not sample.passages)
    for sample in samples:
        for metric in metrics:
            if metric.referenced and not sample.answer:
                missing[metric.name][sample.query] = "no reference answer"
            elif metric.responded and sample.response == "":
                missing[metric.name][sample.query] = "no answer was given"
            elif sample.passages:
                tasks[metric.name, sample.query] = partial(_find_score, metric, sample)
            elif metric.nearest:
                values[metric.name][sample.query] = 0.0
            else:
                missing[metric.name][sample.query] = "nothing was returned"
    for (name, query), found in asking.all(tasks, "judging").items():
        if isinstance(found, str):
            missing[name][query] = found
        else:
            values[name][query] = found
    return [
        Scores(
            metric,
            # In the order of the samples, not in that of the answers: intervals depend on it.
            _order(values[metric.name], samples),
            empty,
            _order(missing[metric.name], samples),
        )
        for metric in metrics
    ]


def _order(found: Mapping[str, T], samples: Sequence[Sample]) -> dict[str, T]:
    return {sample.query: found[sample.query] for sample in samples if sample.query in found}


def _find_score(metric: Metric, sample: Sample, ask: Ask) -> float | str:
    """Return a score, or in one phrase why there is none."""
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
        asked["response"] = sample.response or respond(sample, ask)
    made = getattr(load().metrics.collections, metric.name)(llm=judge)
    judge.learn(made)
    try:
        value = float(asyncio.run(made.ascore(**asked)).value)
    except Exception:
        # Some metrics swallow what their judge raises and others pass it on.
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
    """Return an answer that is not empty, and what is wrong with it. Raises NoScoreError."""
    text, problem = read_answer(ask, prompt)
    if not text:
        raise NoScoreError(problem or "an empty answer")
    return text, problem


def make_judge(ask: Ask) -> Any:
    """Return what ragas takes for a language model.

    It keeps the first failure, after which it asks no more.
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
            """Take the examples of a metric's prompts for usual answers."""
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
