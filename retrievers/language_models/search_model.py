"""A language model that searches ask, charged to the step that asks."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.language_models.answers import AnswerCache, KeptAnswer
from assay.retrievers.language_models.base import LanguageModel, Prompt
from assay.retrievers.language_models.client import LanguageModelClient
from assay.retrievers.language_models.openai import OpenAiSettings
from assay.retrievers.language_models.providers import LanguageModelSettings
from assay.retrievers.services import cost_meter as charges
from assay.retrievers.services.calls import PaceSettings
from assay.retrievers.services.ledger import CostLedger
from assay.retrievers.services.prices import Prices, Usage
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest

LEDGERS = "served-ledger"


class SearchModelSettings(PaceSettings):
    """The language model that a part of a pipeline asks, and the limits of its cost."""

    model: Annotated[LanguageModelSettings, Field(discriminator="type")] = Field(
        default_factory=OpenAiSettings, description="the language model"
    )
    prices: Prices | None = Field(
        None, description="US dollars per million tokens; else those known of the model"
    )
    max_cost_usd: float | None = Field(
        None,
        ge=0,
        description="what this model may cost over all runs that share the cache; never exceeded",
    )

    def open_model(self, purpose: str, most_tokens: int, resources: Resources) -> "SearchModel":
        """Return the model, whose answers need up to `most_tokens`. It is not asked yet.

        The budget is that of all models of one name that serve one `purpose`. Raises AssayError
        if it has no prices.
        """
        changes: dict[str, Any] = {"max_tokens": max(self.model.max_tokens, most_tokens)}
        if self.model.base_url:
            # A config may come from elsewhere: it says which key is meant for its address.
            changes["key_variable"] = self.model.key_variable or ""
        model = self.model.model_copy(update=changes).build(resources)
        return SearchModel(self, model, purpose, resources)


class SearchModel:
    """A model that answers prompts and records the charge of each, whenever it was made.

    Safe to call from threads.
    """

    def __init__(
        self,
        settings: SearchModelSettings,
        model: LanguageModel,
        purpose: str,
        resources: Resources,
    ) -> None:
        self.model = model
        self.prices = settings.prices or model.prices
        book = self._open_book(settings.max_cost_usd, purpose, resources)
        self._answers = AnswerCache(resources.cache, model)
        self._client = LanguageModelClient(model, book, settings, self._answers)

    def ask(self, prompt: Prompt, *, rerun: bool = False) -> KeptAnswer:
        """Return the answer to `prompt`: the kept one, if there is one and not `rerun`.

        Raises TooLongError if the prompt is longer than the model can read, and AssayError once
        no further call can succeed.
        """
        key = self._answers.key(prompt)
        answer = None if rerun else self._answers.find([key]).get(key)
        if answer is None:
            answer = self._make(prompt) if rerun else self._client.ask(prompt)
        charges.record(answer.usage or Usage(), self.prices)
        return answer

    def metadata(self) -> Mapping[str, Any]:
        """Return the model and its prices."""
        return {
            "model": self.model.name,
            "usd_per_million_tokens": self.prices.model_dump() if self.prices else None,
        }

    def _make(self, prompt: Prompt) -> KeptAnswer:
        return self._client.make(
            prompt.most_tokens,
            self.model.most_output,
            lambda: self.model.answer(prompt),
            lambda answer: KeptAnswer(answer.text, answer.ending, answer.note, answer.usage),
        )

    def _open_book(self, budget: float | None, purpose: str, resources: Resources) -> CostLedger:
        if budget is None:
            return CostLedger()
        if self.prices is None:
            raise AssayError(
                f"{self.model.name}: its prices are not known, and max_cost_usd needs them: give"
                " prices"
            )
        # Not by the model's identity: the longest answer, which is in it, depends on the settings.
        name = digest(purpose, self.model.name, self.model.url)
        path = resources.cache.root / LEDGERS / f"{name}.jsonl"
        return CostLedger(path, self.prices, budget)
