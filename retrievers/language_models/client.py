"""Answers to prompts: within a budget, each paid for once, from any number of threads."""

from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.language_models.answers import AnswerCache, KeptAnswer
from assay.retrievers.language_models.base import LanguageModel, Prompt
from assay.retrievers.services.calls import Calls, PaceSettings
from assay.retrievers.services.ledger import CostLedger
from assay.retrievers.services.prices import Prices


class CallSettings(PaceSettings):
    """Settings of calls to a language model, and the limits of their cost."""

    max_cost_usd: float | None = Field(
        None, ge=0, description="budget of one job, over all its runs; never exceeded"
    )
    prices: Prices | None = Field(
        None, description="US dollars per million tokens; else those known of the model"
    )


def find_prices(model: LanguageModel, settings: CallSettings) -> Prices | None:
    """Return the prices to calculate with. Raises AssayError if a budget has none."""
    prices = settings.prices or model.prices
    if prices is None and settings.max_cost_usd is not None:
        raise AssayError(
            f"{model.name}: its prices are not known, and a budget needs them: give --prices"
            " INPUT,CACHE_WRITE,CACHE_READ,OUTPUT in US dollars per million tokens"
        )
    return prices


class LanguageModelClient(Calls):
    """A client that asks a model each question once, and enters each call into an open ledger."""

    def __init__(
        self,
        model: LanguageModel,
        ledger: CostLedger,
        settings: PaceSettings,
        answers: AnswerCache,
    ) -> None:
        super().__init__(model.name, ledger, settings)
        self._model = model
        self._answers = answers
        self._asking: set[str] = set()

    def ask(self, prompt: Prompt) -> KeptAnswer:
        """Return the answer to `prompt`, kept or new.

        Raises TooLongError if the prompt is longer than the model can read, and AssayError once
        stopped.
        """
        key = self._answers.key(prompt)
        with self._changed:
            while key in self._asking:
                self._changed.wait()
            if known := self._answers.find([key]).get(key):
                return known
            self._asking.add(key)
        try:
            return self.make(
                prompt.most_tokens,
                self._model.most_output,
                lambda: self._model.answer(prompt),
                lambda answer: self._answers.keep(key, answer),
            )
        finally:
            with self._changed:
                self._asking.discard(key)
                self._changed.notify_all()
