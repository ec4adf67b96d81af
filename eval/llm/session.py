"""The language model that a command asks by its options: within a budget, each question once."""

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from assay.eval.running.study_options import ModelOptions
from assay.retrievers.base import AssayError
from assay.retrievers.language_models.answers import CACHE_KIND, AnswerCache
from assay.retrievers.language_models.base import LanguageModel
from assay.retrievers.language_models.client import CallSettings, find_prices
from assay.retrievers.language_models.estimates import DryRun
from assay.retrievers.language_models.providers import PROVIDERS
from assay.retrievers.services.ledger import CostLedger
from assay.retrievers.services.prices import Prices
from assay.retrievers.settings import Resources, explain_error
from assay.retrievers.store.digest import digest


@dataclass(frozen=True, slots=True)
class LlmSession:
    """A language model to ask, with its prices and cache; `purpose` names its ledgers.

    `kind` names the entries of the cache in which its answers are kept.
    """

    purpose: str
    model: LanguageModel
    settings: CallSettings
    prices: Prices | None
    resources: Resources
    kind: str = CACHE_KIND

    @property
    def library(self) -> AnswerCache:
        """The kept answers of the model."""
        return AnswerCache(self.resources.cache, self.model, self.kind)

    def count(self, *, cached: bool = False) -> DryRun:
        """Return a dry run, which answers with kept answers and examples, and counts calls to make.

        With `cached` it takes the provider's cache of shared documents into account.
        """
        return DryRun(self.model, self.prices, self.library, cached)

    def ledger(self, *about: Any) -> CostLedger:
        """Return the ledger, not yet open, of all runs of one job; `about` identifies the job."""
        job = digest(f"{self.purpose} job", *about)
        path = self.resources.cache.root / f"{self.purpose}-ledger" / f"{job}.jsonl"
        return CostLedger(path, self.prices, self.settings.max_cost_usd)


def make_session(
    asked: ModelOptions,
    purpose: str,
    max_tokens: int,
    resources: Resources,
    *,
    dry_run: bool = False,
    kind: str = CACHE_KIND,
) -> LlmSession:
    """Return the model that is `asked`, whose answers have `max_tokens` unless it sets another.

    Raises AssayError naming the option that is wrong, if a budget has no prices, and if a key or
    an extra is missing. Kept replies need neither: if some were asked for this `purpose`, and in a
    dry run, a missing one is only a warning.
    """
    given = {name: value for name, value in asked.session.items() if value is not None}
    model, settings = _read_options({"max_tokens": max_tokens} | given, resources)
    prices = find_prices(model, settings)
    if lack := model.find_lack():
        asked_before = any((resources.cache.root / f"{purpose}-ledger").glob("*.jsonl"))
        if not dry_run and not asked_before:
            raise AssayError(lack)
        resources.progress.say(
            f"warning: {lack}; without it only replies that are kept can be used"
        )
    return LlmSession(purpose, model, settings, prices, resources, kind)


def _read_options(
    given: dict[str, Any], resources: Resources
) -> tuple[LanguageModel, CallSettings]:
    """Return the model and the settings of calls. Raises AssayError naming the wrong option."""
    called: dict[str, Any] = {
        key: given[key] for key in ("concurrency", "max_cost_usd") if key in given
    }
    if "prices" in given:
        called["prices"] = _read_prices(given["prices"])
    names = ("model", "base_url", "max_tokens", "thinking_tokens", "timeout_seconds")
    told = {key: given[key] for key in names if key in given}
    try:
        return PROVIDERS[given["provider"]](**told).build(resources), CallSettings(**called)
    except ValidationError as error:
        key, _, wrong = explain_error(error).partition(":")
        raise AssayError(f"--{key.replace('_', '-')}:{wrong}") from None


def _read_prices(text: str) -> Prices:
    """Return the prices in `text`: four numbers."""
    try:
        numbers = [float(part) for part in text.split(",")]
        names = ("input", "cache_write", "cache_read", "output")
        return Prices.model_validate(dict(zip(names, numbers, strict=True)))
    except ValueError:  # pydantic's is one
        raise AssayError(
            f"--prices: {text!r} is not four prices; allowed: INPUT,CACHE_WRITE,CACHE_READ,OUTPUT"
            " in US dollars per million tokens, as in 1,1.25,0.1,5"
        ) from None
