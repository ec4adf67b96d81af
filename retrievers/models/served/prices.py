"""Prices of served models, from a dated list that a file of the user's can override."""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.services.prices import Prices
from assay.retrievers.settings import Settings, validate
from assay.retrievers.settings.files import read_mapping

LIST = Path(__file__).with_name("prices.yaml")
VARIABLE = "ASSAY_PRICES"  # a list of one's own


class Entry(Settings):
    """One model: US dollars per million tokens or per thousand searches; the tokens it reads."""

    tokens: float | None = Field(None, ge=0)
    searches: float | None = Field(None, ge=0)
    window: int | None = Field(None, ge=1)


class Provider(Settings):
    """The models of one provider, and when and where their prices were read."""

    as_of: str
    source: str
    models: dict[str, Entry]


class PriceList(Settings):
    """The providers by the `type` that configs name them by."""

    providers: dict[str, Provider]


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model's entry in the list; `price` is per million tokens or per thousand searches."""

    price: float | None
    unit: str
    window: int | None
    as_of: str
    source: str


def find_listed(provider: str, model: str) -> ListedModel | None:
    """Return the list's entry for a provider's model. Raises AssayError for a malformed list."""
    own = os.environ.get(VARIABLE)
    for path in filter(None, (own and Path(own), LIST)):
        known = _read(path).providers.get(provider)
        if known and (entry := known.models.get(model)):
            unit = "tokens" if entry.searches is None else "searches"
            price = entry.tokens if entry.searches is None else entry.searches
            return ListedModel(price, unit, entry.window, known.as_of, known.source)
    return None


def find_provider(model: str) -> str | None:
    """Return the provider whose model of that name is on the list."""
    providers = _read(LIST).providers.items()
    return next((name for name, known in providers if model in known.models), None)


def make_prices(price: float, unit: str) -> Prices:
    """Return a price as rates: what is charged by the search counts searches for tokens."""
    rate = price * 1000 if unit == "searches" else price
    return Prices(input=rate, cache_write=rate, cache_read=rate, output=rate)


@cache
def _read(path: Path) -> PriceList:
    if not path.is_file():
        raise AssayError(f"{VARIABLE}: {path}: there is no such file")
    return validate(PriceList, {"providers": read_mapping(path)}, str(path))
