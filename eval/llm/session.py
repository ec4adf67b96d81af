"""A language model that a command asks by its options, within a budget, each question once."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from assay.eval.configs.resources import make_resources
from assay.eval.llm.model_choice import read_settings
from assay.eval.runs.stored import StoredRun
from assay.retrievers.base import Progress
from assay.retrievers.language_models.answers import AnswerCache
from assay.retrievers.language_models.base import LanguageModel
from assay.retrievers.language_models.client import CallSettings, find_prices
from assay.retrievers.language_models.estimates import DryRun
from assay.retrievers.services.ledger import CallTotals, CostLedger
from assay.retrievers.services.prices import Prices
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest

# With what commands print.
__all__ = ["CallTotals", "CostLedger", "DryRun", "LlmSession", "make_session"]


@dataclass(frozen=True, slots=True)
class LlmSession:
    """The language model that is asked, and what is known of it."""

    model: LanguageModel
    settings: CallSettings
    prices: Prices | None
    library: AnswerCache
    resources: Resources

    def ledger(self, purpose: str, runs: Iterable[StoredRun]) -> CostLedger:
        """Return the ledger, not yet open, of all that this model is asked about these runs."""
        job = digest(f"{purpose} job", sorted(run.manifest.id for run in runs), self.model.identity)
        path = self.resources.cache.root / f"{purpose}-ledger" / f"{job}.jsonl"
        return CostLedger(path, self.prices, self.settings.max_cost_usd)


def make_session(options: dict[str, Any], max_tokens: int, progress: Progress) -> LlmSession:
    """Return the model that `options` name, whose answers have `max_tokens` unless told otherwise.

    Raises AssayError.
    """
    given = {name: value for name, value in options.items() if value is not None}
    resources = make_resources(progress)
    model, settings = read_settings({"max_tokens": max_tokens} | given, resources)
    prices = find_prices(model, settings)
    return LlmSession(model, settings, prices, AnswerCache(resources.cache, model), resources)
