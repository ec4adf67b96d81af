"""Calls of a model behind HTTP: one JSON document out, one in, each call paid for once.

httpx serves every provider: a call is one POST, while the SDKs of three providers bring 50 MB,
retry on their own (which a budget must know of), and drop the index that orders the answers.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

from pydantic import Field, model_validator

from assay.retrievers.base import AssayError
from assay.retrievers.language_models.base import count
from assay.retrievers.models.served.messages import WrongFormError, find_message
from assay.retrievers.models.served.prices import ListedModel, find_listed, make_prices
from assay.retrievers.services import cost_meter as charges
from assay.retrievers.services.calls import Calls, PaceSettings
from assay.retrievers.services.endpoint import (
    NO_KEY,
    Endpoint,
    RefusedError,
    check_url,
    name_variable,
)
from assay.retrievers.services.errors import TooLongError
from assay.retrievers.services.ledger import CostLedger
from assay.retrievers.services.prices import Prices, Usage
from assay.retrievers.settings import Resources
from assay.retrievers.settings.trust import ADDRESS, VARIABLE
from assay.retrievers.store.digest import digest

T = TypeVar("T")
Unit = Literal["tokens", "searches"]

LEDGERS = "served-ledger"
LARGEST = 128 * 2**20  # bytes of one answer
# How services say that a text, or all texts of a call, are too long.
TOO_LONG = re.compile(
    r"too many tokens|maximum context|context length|max(imum)? (allowed )?tokens|too large"
    r"|must have less than|exceeds? .{0,100}(tokens|length|limit)|batch size",
    re.I,
)


class APIConnectionError(Exception):
    """A connection that could not be made or broke; named as the SDKs that Endpoint reads."""


class StatusError(Exception):
    """An answer of an error status, with what Endpoint reads of one."""

    def __init__(self, status: int, headers: Mapping[str, str], body: Any) -> None:
        super().__init__(f"HTTP {status}")
        self.status_code = status
        self.response = self
        self.headers = headers
        self.body = {"message": message} if (message := find_message(body)) else None


class ServedSettings(PaceSettings):
    """A model behind HTTP; its key comes from the environment alone."""

    provider: ClassVar[str]
    address: ClassVar[str]  # the provider's own
    billed: ClassVar[Unit] = "tokens"
    asks_server: ClassVar[bool] = True

    model: str = Field(min_length=1, description="the service's id of the model")
    url: Annotated[str | None, ADDRESS] = Field(
        None,
        description="address of another service of the same form; the provider's own if not given",
    )
    key_variable: Annotated[str | None, VARIABLE] = Field(
        None,
        pattern=r"^[A-Za-z_]\w*$",
        description=(
            "environment variable that holds the key; if not given the provider's own variable,"
            " and for another `url` none: a key is sent nowhere that it is not meant for"
        ),
    )
    price_usd: float | None = Field(
        None,
        ge=0,
        description=(
            "US dollars per million tokens, or per thousand searches where those are billed;"
            " else that of the price list, which knows the provider's own models alone"
        ),
    )
    max_cost_usd: float | None = Field(
        None,
        ge=0,
        description="what this model may cost over all runs that share the cache; never exceeded",
    )
    concurrency: int = Field(4, ge=1, le=256, description="calls at a time")
    timeout_seconds: float = Field(60, gt=0, description="how long one call may take")

    @model_validator(mode="before")
    @classmethod
    def _check_url(cls, values: Any) -> Any:
        """Take the slash from the end of the url. One that holds a password is not repeated."""
        if not isinstance(values, Mapping) or not isinstance(values.get("url"), str):
            return values
        try:
            url = check_url(values["url"], "url")
        except AssayError as error:
            raise ValueError(str(error)) from None
        own = url == cls.address and cls.model_fields["url"].default is None
        return {**values, "url": None if own else url}

    @classmethod
    def own_values(cls, key: str) -> tuple[Any, ...]:
        """Return the provider's own address, and the variable of its key."""
        own = {"url": (cls.address,), "key_variable": (name_variable(cls.provider),)}
        return (*super().own_values(key), *own.get(key, ()))

    @property
    def listed(self) -> ListedModel | None:
        """The model's entry in the price list; None for a service at another address."""
        return None if self.url else find_listed(self.provider, self.model)

    @property
    def prices(self) -> Prices | None:
        """The price as given, or as listed; None if it is not known."""
        if self.price_usd is not None:
            return make_prices(self.price_usd, self.billed)
        listed = self.listed
        if listed is None or listed.price is None or listed.unit != self.billed:
            return None
        return make_prices(listed.price, self.billed)

    @property
    def where(self) -> str:
        """The provider and the model for people."""
        return f"{self.url or self.provider} {self.model}".strip()

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that hold the key."""
        return {"Authorization": f"Bearer {key}"}

    def price_facts(self) -> dict[str, Any]:
        """Return the reported facts on the price: the rate used, and its source."""
        price = self.prices
        rate = price and (price.input / 1000 if self.billed == "searches" else price.input)
        per = "thousand searches" if self.billed == "searches" else "million tokens"
        facts: dict[str, Any] = {f"usd_per_{per.replace(' ', '_')}": rate}
        if price and self.price_usd is None and (listed := self.listed):
            facts["price_source"] = f"{listed.source} ({listed.as_of})"
        return facts


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """The value read from a reply, and the usage that the service counted."""

    value: T
    usage: Usage


class Service:
    """Posts to one model. Safe to call from threads; nothing is opened before the first call."""

    def __init__(self, settings: ServedSettings, resources: Resources) -> None:
        if settings.max_cost_usd is not None and settings.prices is None:
            raise AssayError(
                f"{settings.where}: its price is not known, and max_cost_usd needs it: give"
                " price_usd"
            )
        self._settings = settings
        self._resources = resources
        self._calls = Calls(settings.where, self._open_book(), settings)
        self._lock = threading.Lock()
        self._client: Any = None

    def post(
        self, path: str, body: Any, most: int, read: Callable[[Any], tuple[T, Usage]]
    ) -> Reply[T]:
        """Return the result of `read` on the reply to `body`, which is billed for `most` at most.

        If `read` fails on a malformed reply, the call is made again. Raises TooLongError if the
        service says that `body` is too long, and AssayError if retrying does not help.
        """

        def attempt() -> Reply[T]:
            answer = self._send(path, body)
            try:
                reply = Reply(*read(answer))
                count(reply.usage.input)
                return reply
            except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
                why = str(error) if isinstance(error, WrongFormError) else "not in the API's form"
                raise self._endpoint.unreadable(why) from None

        reply = self._calls.make(most, 0, attempt, lambda reply: reply)
        charges.record(reply.usage, self._settings.prices, self._settings.billed)
        return reply

    @cached_property
    def _endpoint(self) -> Endpoint:
        variable = self._settings.key_variable
        if variable is None and self._settings.url:
            variable = ""
        return Endpoint(self._settings.provider, self._settings.url, variable)

    def _open_client(self) -> Any:
        with self._lock:
            if self._client is None:
                settings, endpoint = self._settings, self._endpoint
                httpx = endpoint.load("httpx")
                headers = settings.headers(endpoint.key) if endpoint.key != NO_KEY else {}
                url = f"{settings.url or settings.address}/"
                self._client = httpx.Client(
                    base_url=url, headers=headers, timeout=settings.timeout_seconds
                )
            return self._client

    def _open_book(self) -> CostLedger:
        settings = self._settings
        if settings.max_cost_usd is None or settings.prices is None:
            return CostLedger()
        name = digest(settings.provider, settings.url, settings.model)
        path = self._resources.cache.root / LEDGERS / f"{name}.jsonl"
        return CostLedger(path, settings.prices, settings.max_cost_usd)

    def _send(self, path: str, body: Any) -> Any:
        """Return the JSON that one POST is answered with. Raises what Endpoint makes of errors."""
        import httpx

        try:
            status, headers, content = self._exchange(path, body)
        except (httpx.TimeoutException, TimeoutError) as error:
            raise self._endpoint.translate(error) from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            broken = APIConnectionError()
            broken.__cause__ = error
            raise self._endpoint.translate(broken) from None
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        if not 200 <= status < 300:
            failed = StatusError(status, headers, answer)
            said = str((failed.body or {}).get("message", ""))
            if status in (400, 413, 422, 500) and TOO_LONG.search(said):
                raise TooLongError(f"{self._endpoint.host}: HTTP {status}: {said[:200]}")
            meaning = self._endpoint.translate(failed)
            if isinstance(meaning, StatusError | RefusedError):
                why = str(meaning) if status >= 400 else "redirects are not followed"
                raise AssayError(f"{self._endpoint.host}: HTTP {status}: {why}")
            raise meaning
        if answer is None:
            raise self._endpoint.unreadable("not JSON")
        return answer

    def _exchange(self, path: str, body: Any) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and content; the time that all of it takes is bounded."""
        deadline = time.monotonic() + self._settings.timeout_seconds
        with self._open_client().stream("POST", path, json=body) as response:
            parts = self._endpoint.bound(response.iter_bytes(), LARGEST, deadline)
            return response.status_code, response.headers, b"".join(parts)
