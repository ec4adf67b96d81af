"""What a language model is to the rest: a document and a question about it in, an answer out."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, Self

from assay.retrievers.services.prices import Prices, Usage

Ending = Literal["end", "length", "refusal"]

# A byte-level tokenizer makes no more tokens than there are bytes; a chat's own marks come on top.
MOST_TOKENS_PER_BYTE = 1
MARKS = 200
# What English, Markdown and code come to with the vocabularies of 2026; other scripts take more
# bytes a character, and about as many a token.
USUAL_BYTES_PER_TOKEN = 3


@dataclass(frozen=True, slots=True)
class Prompt:
    """What one call sends: first `document`, then `question`, with a line break between.

    `shared` says that calls with the same document follow, so that a provider should cache it.
    """

    document: str
    question: str
    shared: bool = False

    @property
    def text(self) -> str:
        """The prompt as one text."""
        return f"{self.document}\n{self.question}"

    @property
    def most_tokens(self) -> int:
        """No tokenizer counts more than this."""
        return MOST_TOKENS_PER_BYTE * len(self.text.encode()) + MARKS


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered, why it stopped, and what it counted.

    `ending` is `length` when the answer was cut off, `refusal` when there is none; `note` then
    says why, in the provider's words.
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


@dataclass(frozen=True, slots=True)
class Limits:
    """Tokens of a local model: of prompt and answer together, and of the answer."""

    context: int
    answer: int


class LanguageModel(ABC):
    """Answers prompts. `answer` is safe to call from threads once the model is open.

    `name` is for people. `url` is the address of another service than the provider's own, if it is
    asked. `window` is how many tokens of prompt it is sent at most, unless told
    otherwise. `most_output` bounds the tokens of an answer, thinking included. `cached_from` is
    the length in tokens from which a shared document is cached. `calls_at_once` bounds the
    threads.
    """

    name: str
    url: str | None = None
    window: int
    most_output: int
    prices: Prices | None
    cached_from: int | None = None
    calls_at_once: int | None = None

    @property
    @abstractmethod
    def identity(self) -> str:
        """Digest of all that decides an answer: provider, address, model, limits."""

    def find_lack(self) -> str:
        """Return in a line which key or extra it lacks; loads and asks nothing."""
        return ""

    @abstractmethod
    def open(self) -> None:
        """Make ready to answer. Raises AssayError when a key, an extra or a file is missing."""

    @abstractmethod
    def answer(self, prompt: Prompt) -> Answer:
        """Return the answer to `prompt`, in one attempt.

        Raises UnansweredError, TooLongError, or AssayError when no further call can succeed either.
        """

    def close(self) -> None:
        """Release connections and memory."""

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
