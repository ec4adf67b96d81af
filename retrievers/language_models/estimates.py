"""Estimates of the cost of calls to a language model, without making any."""

from dataclasses import dataclass, field, replace

from assay.retrievers.language_models.answers import AnswerCache, KeptAnswer
from assay.retrievers.language_models.base import USUAL_BYTES_PER_TOKEN, LanguageModel, Prompt
from assay.retrievers.services.prices import Prices, Usage


@dataclass
class Estimate:
    """A sum of calls to `model`, at the usual number of bytes per token."""

    model: LanguageModel
    prices: Prices | None
    usage: Usage = field(default_factory=Usage, init=False)
    _usd: float = field(default=0.0, init=False)
    _worst_usd: float = field(default=0.0, init=False)
    _documents: set[str] = field(default_factory=set, init=False)

    @property
    def usd(self) -> float | None:
        """The estimated cost of the calls, in US dollars; None without prices."""
        return self._usd if self.prices else None

    @property
    def worst_usd(self) -> float | None:
        """The highest possible cost, by the bytes sent; None without prices."""
        return self._worst_usd if self.prices else None

    @property
    def charged(self) -> bool | None:
        """True if the calls cost anything; None if no prices are known."""
        return self.prices.charged if self.prices else None

    def add(self, prompt: Prompt, output: int) -> None:
        """Add a call that comes after those added before, with an answer of `output` tokens."""
        usage = self._expect(prompt, min(output, self.model.most_output))
        self.usage += usage
        if self.prices:
            self._usd += self.prices.cost(usage)
            self._worst_usd += self.prices.worst(prompt.most_tokens, self.model.most_output)

    def _expect(self, prompt: Prompt, output: int) -> Usage:
        total = len(prompt.text.encode()) // USUAL_BYTES_PER_TOKEN
        document = len(prompt.document.encode()) // USUAL_BYTES_PER_TOKEN
        cached_from = self.model.cached_from
        if not prompt.shared or cached_from is None or document < cached_from:
            return Usage(total, output=output)
        if prompt.document in self._documents:
            return Usage(total - document, cache_read=document, output=output)
        self._documents.add(prompt.document)
        return Usage(total - document, cache_write=document, output=output)


@dataclass
class DryRun(Estimate):
    """A client that asks nothing, and answers with kept answers, else with examples.

    `known` is the number of kept answers, `to_ask` that of calls to make. Unless `cached`, a
    provider's cache of prompts, which lowers the cost, is ignored.
    """

    answers: AnswerCache
    cached: bool = False
    known: int = field(default=0, init=False)
    to_ask: int = field(default=0, init=False)
    _seen: dict[str, KeptAnswer] = field(default_factory=dict, init=False)

    def ask(self, prompt: Prompt) -> KeptAnswer:
        """Return the kept answer to `prompt`, or its example.

        Not safe to call from several threads.
        """
        key = self.answers.key(prompt)
        if key not in self._seen:
            known = self.answers.find([key]).get(key)
            self._seen[key] = known or KeptAnswer(prompt.example, "end")
            if known:
                self.known += 1
            else:
                self.to_ask += 1
                usual = len(prompt.example.encode()) // USUAL_BYTES_PER_TOKEN
                self.add(replace(prompt, shared=prompt.shared and self.cached), usual)
        return self._seen[key]
