"""The interface of a language model: a document and a question about it in, an answer out."""

import os
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from assay.retrievers.base import AssayError
from assay.retrievers.services.endpoint import Endpoint, RefusedError, check_url, name_variable
from assay.retrievers.services.prices import Usage, find_known
from assay.retrievers.settings import Settings, name_type
from assay.retrievers.settings.trust import ADDRESS, VARIABLE
from assay.retrievers.store.digest import digest

Ending = Literal["end", "length", "refusal"]

# A byte-level tokenizer makes no more tokens than there are bytes; a chat's own marks come on top.
MOST_TOKENS_PER_BYTE = 1
MARKS = 200
# The ratio for English, Markdown and code with the vocabularies of 2026; other scripts take more
# bytes a character, and about as many a token.
USUAL_BYTES_PER_TOKEN = 3
LARGEST = 16 * 2**20  # bytes of one reply
USUAL_WINDOW = 100_000  # where nothing is known of a model


@dataclass(frozen=True, slots=True)
class Prompt:
    """The prompt of one call: first `document`, then `question`, with a line break between.

    `shared` says that calls with the same document follow, so that a provider should cache it.
    `example` is an answer of the usual form and length, which an estimate uses. `key` is the key of
    the kept answer, if it is not the words of the prompt.
    """

    document: str
    question: str
    shared: bool = False
    example: str = ""
    key: str = ""

    @property
    def text(self) -> str:
        """The prompt as one text."""
        return f"{self.document}\n{self.question}"

    @property
    def most_tokens(self) -> int:
        """The upper bound of the tokens that any tokenizer counts."""
        return MOST_TOKENS_PER_BYTE * len(self.text.encode()) + MARKS


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a model, why it stopped, and the tokens it counted.

    `ending` is `length` if the answer was cut off, `refusal` if there is none; `note` then says
    why, in the provider's words.
    """

    text: str
    ending: Ending
    usage: Usage
    note: str = ""

    def __post_init__(self) -> None:
        # JSON can name half a surrogate pair, which can be written nowhere.
        for name in ("text", "note"):
            whole = getattr(self, name).encode("utf-8", "replace").decode()
            object.__setattr__(self, name, whole)


class ProviderSettings(Settings):
    """A model behind an API; the key comes from the environment alone."""

    asks_server: ClassVar[bool] = True

    model: str = Field(min_length=1, description="the API's id of the model")
    base_url: Annotated[str | None, ADDRESS] = Field(
        None, description="address of the API; else PROVIDER_BASE_URL, else the provider's own"
    )
    key_variable: Annotated[str | None, VARIABLE] = Field(
        None, pattern=r"^\w*$", description="environment variable of the key; else PROVIDER_API_KEY"
    )
    max_tokens: int = Field(100, ge=1, description="longest answer")
    thinking_tokens: int = Field(
        0, ge=0, description="tokens to think in before the answer; 0 turns thinking off"
    )
    timeout_seconds: float = Field(60, gt=0, description="how long one call may take")

    @classmethod
    def own_values(cls, key: str) -> tuple[Any, ...]:
        """Return the variable of the provider's key."""
        own = (name_variable(name_type(cls)),) if key == "key_variable" else ()
        return (*super().own_values(key), *own)


class LanguageModel(ABC):
    """A model behind an API, opened when it is first asked. `answer` is safe to call from threads.

    `name` is for people. `url` is the address of another service than the provider's own, if it is
    asked. `window` is the most tokens of prompt that it is sent, unless a caller sets another.
    `most_output` bounds the tokens of an answer, thinking included. `prices` are None if they
    are not known. `cached_from` is the length in tokens from which a shared document is cached.

    Subclasses make the SDK's client, call it and read its reply. `provider` is also the name of
    the SDK and of the extra that installs it; `address` is the provider's own.
    """

    name: str
    provider: str
    address: str

    def __init__(self, settings: ProviderSettings) -> None:
        self._settings = settings
        variable = f"{self.provider.upper()}_BASE_URL"
        url = check_url(settings.base_url, "base_url") or check_url(
            os.environ.get(variable), variable
        )
        self.url = None if url == self.address else url
        # Another service may sell it at another price, or call another model by its name.
        self._known = None if self.url else find_known(self.provider, settings.model)
        self.name = f"{self.provider} {settings.model}"
        self.window = self._known.window if self._known else USUAL_WINDOW
        self.most_output = settings.max_tokens + settings.thinking_tokens
        self.prices = self._known.prices if self._known else None
        self.cached_from = self._known.cached_from if self._known else None
        self._client: Any = None
        self._opening = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def identity(self) -> str:
        """Digest of all that decides an answer: provider, address, model, limits."""
        limits = [self._settings.max_tokens, self._settings.thinking_tokens]
        return digest(self.provider, self.url, self._settings.model, limits)

    @cached_property
    def _endpoint(self) -> Endpoint:
        return Endpoint(self.provider, self.url, self._settings.key_variable)

    def find_lack(self) -> str:
        """Return a line on the key or extra that it lacks; load and ask nothing."""
        try:
            return self._endpoint.find_lack(self.provider)
        except AssayError as error:
            return str(error)

    def open(self) -> None:
        """Read the key and make the client, unless that is done.

        The client makes one attempt and logs nothing.

        Raises AssayError when the key or the extra is missing.
        """
        with self._opening:
            if self._client is not None:
                return
            endpoint = self._endpoint
            options = {
                "api_key": endpoint.key,
                "base_url": self.url or self.address,
                "timeout": self._settings.timeout_seconds,
                "max_retries": 0,
            }
            sdk = endpoint.load(self.provider)
            bounded = sdk.DefaultHttpxClient(event_hooks={"response": [self._bound]})
            self._client = self._make_client(sdk, options | {"http_client": bounded})

    def _bound(self, response: Any) -> None:
        """Limit the unpacked size of a reply, and its time: the SDK reads all of it."""
        deadline = time.monotonic() + self._settings.timeout_seconds
        parts = self._endpoint.bound(response.iter_bytes(), LARGEST, deadline)
        response.iter_bytes = lambda: parts

    def answer(self, prompt: Prompt) -> Answer:
        """Return the answer to `prompt`, in one attempt.

        The caller waits and tries again, so that each attempt is accounted for. Raises
        UnansweredError, TooLongError, or AssayError when no further call can succeed either: the
        key or the extra may be missing.
        """
        self.open()
        try:
            reply = self._call(prompt)
        except Exception as error:
            meaning = self._endpoint.translate(error)
            if isinstance(meaning, RefusedError):
                return Answer("", "refusal", Usage(), str(meaning))
            raise meaning from None  # the SDK's error holds the request, and so the key
        try:
            answer = self._read(reply)
        except (AttributeError, IndexError, TypeError, ValueError):
            raise self._endpoint.unreadable("not in the API's form") from None
        if not answer.usage.prompt:
            raise self._endpoint.unreadable("without token counts")
        return answer

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    @abstractmethod
    def _make_client(self, sdk: Any, options: dict[str, Any]) -> Any:
        """Return the SDK's client."""

    @abstractmethod
    def _call(self, prompt: Prompt) -> Any:
        """Return the SDK's reply to `prompt`, or raise one of its errors."""

    @abstractmethod
    def _read(self, reply: Any) -> Answer:
        """Return the answer in `reply`. Whatever a broken one raises is caught."""


def count(value: Any) -> int:
    """Return a number of tokens, 0 for one left out. Raises ValueError for anything else."""
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a number of tokens")
    return value
