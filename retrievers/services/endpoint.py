"""An API's address and key, and the meaning of its SDK's errors for the next call.

The official SDKs of Anthropic and OpenAI share one family of errors, distinguished by their
attributes here, so that neither SDK need be installed to read the other's.
"""

import importlib
import logging
import os
import re
import time
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from assay.retrievers.base import AssayError
from assay.retrievers.base.installation import hint_extra
from assay.retrievers.services.errors import TooLongError, UnansweredError
from assay.retrievers.services.retries import read_retry_after

NO_KEY = "none"  # the SDKs want one all the same
LONGEST_MESSAGE = 200
# Time-outs of a gateway, behind which the work may have been done all the same.
CHARGED = frozenset({408, 502, 504})
TOO_LONG = re.compile(
    r"too long|context_length_exceeded|exceed_context_size|maximum context|request_too_large", re.I
)
REFUSED = re.compile(r"content_filter|content_policy|content management policy", re.I)
NO_CREDIT = re.compile(r"insufficient_quota|credit balance|billing", re.I)


class RefusedError(Exception):
    """The provider's filter turned the prompt away; the message says why."""


class Endpoint:
    """A provider's address and the key to it. The key goes to the SDK and nowhere else."""

    def __init__(self, provider: str, url: str | None, variable: str | None = None) -> None:
        """Read the key from `PROVIDER_API_KEY`, or `variable`; none where that is empty.

        `url` is None for the provider's own address; a compatible service may need no key. Raises
        AssayError when the key is missing or broken.
        """
        self.provider = provider
        self.url = url
        self.variable = name_variable(provider) if variable is None else variable
        self.key = os.environ.get(self.variable, "").strip() if self.variable else NO_KEY
        if not self.key and url and variable is None:
            self.key = NO_KEY
        if not self.key:
            raise AssayError(
                f"{self.variable}: not set; the provider {provider} needs a key in the environment"
            )
        if not re.fullmatch(r"[\x21-\x7e]*", self.key):
            raise AssayError(f"{self.variable}: holds characters that no key has")

    @property
    def host(self) -> str:
        """The address for people, or the provider's name for its own."""
        return urlsplit(self.url).netloc if self.url else self.provider

    def find_lack(self, sdk: str) -> str:
        """Say which extra brings the SDK; empty if that is installed."""
        return "" if find_spec(sdk) else f"provider {self.provider}: {hint_extra(sdk)}"

    def load(self, sdk: str) -> Any:
        """Import the SDK; it logs nothing, because what it could log includes headers."""
        try:
            module = importlib.import_module(sdk)
        except ImportError as error:
            lack = self.find_lack(sdk) or f"provider {self.provider}: {error}"
            raise AssayError(lack) from None
        for name in (sdk, "httpx2", "httpcore2", "httpx", "httpcore"):
            logging.getLogger(name).setLevel(logging.WARNING)
        return module

    def bound(self, parts: Iterable[bytes], most: int, deadline: float) -> Iterator[bytes]:
        """Yield the parts. Raises AssayError after `most` bytes, TimeoutError after `deadline`."""
        size = 0
        for part in parts:
            size += len(part)
            if size > most:
                raise AssayError(f"{self.host}: answered more than {most >> 20} MiB")
            if time.monotonic() > deadline:
                raise TimeoutError
            yield part

    def translate(self, error: Exception) -> Exception:
        """Return this project's error for one of the SDK's, never with the key in it."""
        if isinstance(error.__cause__, AssayError):  # of `bound`
            return error.__cause__
        status = getattr(error, "status_code", None)
        if isinstance(status, int) and status >= 400:
            return self._of_status(status, error)
        late = isinstance(error, TimeoutError) or isinstance(error.__cause__, TimeoutError)
        if late or "Timeout" in type(error).__name__:
            connecting = "Connect" in type(error.__cause__).__name__
            reason = f"{self.host}: no answer in time"
            return UnansweredError(reason, charged=not connecting, unreachable=connecting)
        if type(error).__name__ == "APIConnectionError":
            connecting = "Connect" in type(error.__cause__).__name__
            what = "cannot be reached" if connecting else "the connection broke"
            cause = self._clean(str(error.__cause__ or ""))
            reason = f"{self.host}: {what}{f' ({cause})' if cause else ''}"
            return UnansweredError(reason, charged=not connecting, unreachable=connecting)
        if isinstance(error, ValueError | RecursionError):
            return self.unreadable("not JSON")
        return error

    def unreadable(self, why: str) -> UnansweredError:
        """Return the error for an answer that came and cannot be used."""
        return UnansweredError(f"{self.host}: an unreadable answer ({why})", charged=True)

    def _of_status(self, status: int, error: Any) -> Exception:
        message = self._clean(_message(error))
        said = f"{self.host}: HTTP {status}{f': {message}' if message else ''}"
        hints = f"{message} {getattr(error, 'code', '')} {getattr(error, 'type', '')}"
        if status in (401, 403):  # the message may quote part of the key
            refused = self.variable or "a call without a key; key_variable names one"
            return AssayError(f"{self.host}: refuses {refused} (HTTP {status})")
        if status == 402 or (status in (400, 429) and NO_CREDIT.search(hints)):
            return AssayError(f"{said}; nothing more can be paid for with {self.variable}")
        if status == 413 or (status == 400 and TOO_LONG.search(hints)):
            return TooLongError(said)
        if status == 400 and REFUSED.search(hints):
            return RefusedError(message)
        if status in (408, 409, 429) or status >= 500:
            return UnansweredError(
                said,
                wait=read_retry_after(getattr(error.response, "headers", {})),
                charged=status in CHARGED,
                throttled=status in (429, 503, 529),
            )
        return AssayError(said)

    def _clean(self, text: str) -> str:
        one_line = " ".join(text.split())
        if self.key != NO_KEY:
            one_line = one_line.replace(self.key, "***")
        return one_line[:LONGEST_MESSAGE]


def name_variable(provider: str) -> str:
    """Return the variable that holds the key to a provider, unless another is named."""
    return f"{provider.upper()}_API_KEY"


def check_url(url: str | None, source: str) -> str | None:
    """Return `url` without a slash at its end. Raises AssayError when it is none, or holds a key.

    `source` names the setting or the environment variable it comes from.
    """
    if not url:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise AssayError(f"{source}: not the address of a service; allowed: http(s)://HOST/PATH")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise AssayError(
            f"{source}: only http(s)://HOST/PATH is allowed, without user, password or"
            " parameters: keys come from the environment"
        )
    return url.rstrip("/")


def _message(error: Any) -> str:
    """Return the provider's own words, without the SDK's wrapping."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else inner
    return message if isinstance(message, str) else ""
