"""Prices of language models: tokens by kind, and US dollars per million of them."""

from dataclasses import dataclass

from pydantic import Field

from assay.retrievers.settings import Settings

MILLION = 1_000_000
# The providers' public lists, standard tier, without surcharges for regions.
LISTED = "2026-11"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as a provider counts them: each of the prompt is of one of the first three kinds."""

    input: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.cache_write + other.cache_write,
            self.cache_read + other.cache_read,
            self.output + other.output,
        )

    @property
    def prompt(self) -> int:
        """The tokens of the prompt."""
        return self.input + self.cache_write + self.cache_read


class Rates(Settings):
    """US dollars per million tokens of each kind."""

    input: float = Field(ge=0, description="prompt, neither written to the cache nor read from it")
    cache_write: float = Field(ge=0, description="prompt, written to the provider's cache")
    cache_read: float = Field(ge=0, description="prompt, read from the provider's cache")
    output: float = Field(ge=0, description="answer, thinking included")

    def cost(self, usage: Usage) -> float:
        """Return the US dollars that `usage` costs."""
        dollars = (
            usage.input * self.input
            + usage.cache_write * self.cache_write
            + usage.cache_read * self.cache_read
            + usage.output * self.output
        )
        return dollars / MILLION


class Prices(Rates):
    """Rates, and the rates of calls with a prompt of more than `step` tokens, if they differ."""

    step: int | None = Field(None, ge=1, description="tokens of prompt beyond which `above` holds")
    above: Rates | None = None

    @property
    def charged(self) -> bool:
        """True if any call costs money."""
        return self != FREE

    def cost(self, usage: Usage) -> float:
        """Return the US dollars that a call of `usage` costs."""
        if self.above and self.step and usage.prompt > self.step:
            return self.above.cost(usage)
        return super().cost(usage)

    def worst(self, prompt: int, output: int) -> float:
        """Return the greatest cost of a call of at most `prompt` and `output` tokens."""
        kinds = (Usage(prompt), Usage(cache_write=prompt), Usage(cache_read=prompt))
        answer = Usage(output=output)
        return max(self.cost(kind + answer) for kind in kinds)


FREE = Prices(input=0, cache_write=0, cache_read=0, output=0)


@dataclass(frozen=True, slots=True)
class KnownModel:
    """The known facts on a provider's model.

    - `window`: the longest prompt at the lower price, or that fits, in tokens.
    - `cached_from`: the shortest prefix that the provider caches, in tokens.
    - `breakpoints`: True if it caches up to marks in the prompt, and charges for writing.
    """

    provider: str
    name: str
    prices: Prices
    window: int
    cached_from: int
    breakpoints: bool = True


def _prices(rates: tuple[float, float, float, float], step: int = 0, *above: float) -> Prices:
    names = ("input", "cache_write", "cache_read", "output")
    beyond = Rates(**dict(zip(names, above, strict=True))) if step else None
    return Prices(**dict(zip(names, rates, strict=True)), step=step or None, above=beyond)


_HAIKU_4_5 = _prices((1.00, 1.25, 0.10, 5.00))
KNOWN = (
    KnownModel(
        "anthropic",
        "claude-haiku-5-5",
        _prices((0.10, 0.125, 0.01, 0.50), 100_000, 0.50, 0.625, 0.05, 2.50),
        window=100_000,
        cached_from=512,
    ),
    KnownModel("anthropic", "claude-haiku-4-5", _HAIKU_4_5, 199_000, 4096),
    KnownModel("anthropic", "claude-haiku-4-5-20251001", _HAIKU_4_5, 199_000, 4096),
    KnownModel(
        "openai",
        "gpt-6-luna",
        _prices((0.10, 0.125, 0.01, 0.50), 272_000, 0.20, 0.25, 0.02, 0.75),
        window=272_000,
        cached_from=1024,
    ),
    KnownModel(
        "openai",
        "gpt-5.6-luna",
        _prices((0.20, 0.25, 0.02, 1.20), 272_000, 0.40, 0.50, 0.04, 1.80),
        window=272_000,
        cached_from=1024,
    ),
    KnownModel(
        "openai",
        "gpt-5.4-nano",
        _prices((0.20, 0.20, 0.02, 1.25)),
        window=272_000,
        cached_from=1024,
        breakpoints=False,
    ),
)


def find_known(provider: str, name: str) -> KnownModel | None:
    """Return the known facts on a provider's model."""
    return next((item for item in KNOWN if (item.provider, item.name) == (provider, name)), None)
