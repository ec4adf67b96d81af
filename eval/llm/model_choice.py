"""Which language model is asked, how, and at what prices, by the options of a command."""

from typing import Any

from pydantic import ValidationError

from assay.eval.configs.resources import make_resources
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.language_models.base import LanguageModel
from assay.retrievers.language_models.client import CallSettings, find_prices
from assay.retrievers.language_models.providers import PROVIDERS
from assay.retrievers.services.prices import LISTED, Prices
from assay.retrievers.settings import Resources, explain_error

PRICE_LIST = LISTED  # the month of the prices that are known


def check_model(
    options: dict[str, Any], purpose: str, progress: Progress, *, dry_run: bool
) -> None:
    """Find out, before any work is done, whether the model that `options` name can be asked.

    Raises AssayError where a key or an extra is missing. Replies that are kept need neither: where
    some were asked for this `purpose`, and in a dry run, it is only said.
    """
    if options["provider"] is None:
        return
    resources = make_resources(progress)
    model, settings = read_settings(options, resources)
    find_prices(model, settings)
    lack = model.find_lack()
    if not lack:
        return
    if not dry_run and not any((resources.cache.root / f"{purpose}-ledger").glob("*.jsonl")):
        raise AssayError(lack)
    progress.say(f"warning: {lack}; without it only replies that are kept can be used")


def read_settings(
    options: dict[str, Any], resources: Resources
) -> tuple[LanguageModel, CallSettings]:
    """Return the model and how it is called. Raises AssayError naming the option that is wrong."""
    given = {key: value for key, value in options.items() if value is not None}
    called: dict[str, Any] = {
        key: given.pop(key) for key in ("concurrency", "max_cost_usd") if key in given
    }
    if "prices" in given:
        called["prices"] = read_prices(given["prices"])
    names = ("model", "base_url", "max_tokens", "thinking_tokens", "timeout_seconds")
    told = {key: given[key] for key in names if key in given}
    try:
        return PROVIDERS[options["provider"]](**told).build(resources), CallSettings(**called)
    except ValidationError as error:
        key, _, wrong = explain_error(error).partition(":")
        raise AssayError(f"--{key.replace('_', '-')}:{wrong}") from None


def read_prices(text: str) -> Prices:
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
