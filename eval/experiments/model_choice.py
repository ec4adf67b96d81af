"""Which language model is asked, how, and at what prices, by the options of a command."""

from typing import Any

from pydantic import ValidationError

from retrievers.base import AssayError
from retrievers.language_models.base import LanguageModel
from retrievers.language_models.client import CallSettings
from retrievers.language_models.prices import LISTED, Prices
from retrievers.language_models.providers import PROVIDERS
from retrievers.settings import Workshop, explain_error

PRICE_LIST = LISTED  # the month of the prices that are known


def read_settings(
    options: dict[str, Any], workshop: Workshop
) -> tuple[LanguageModel, CallSettings]:
    """Return the model and how it is called. Raises AssayError naming the option that is wrong."""
    provider = options["provider"]
    kind = PROVIDERS[provider]
    given = {key: value for key, value in options.items() if value is not None}
    called: dict[str, Any] = {
        key: given.pop(key) for key in ("concurrency", "max_cost_usd") if key in given
    }
    if "prices" in given:
        called["prices"] = read_prices(given["prices"])
    names = ("model", "base_url", "max_tokens", "thinking_tokens", "timeout_seconds")
    told = {key: given[key] for key in names if key in given}
    for key in told.keys() - kind.model_fields.keys():
        raise AssayError(f"--{key.replace('_', '-')}: the provider {provider} has no such setting")
    if provider == "local" and "window_tokens" in given:
        told["context_tokens"] = given["window_tokens"]
    try:
        return kind(**told).build(workshop), CallSettings(**called)
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
