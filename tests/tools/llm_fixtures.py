"""A language model on a server of this machine, its cache and its ledger."""

from collections.abc import Callable
from contextlib import contextmanager

from doubles.language_model_server import Call, Reaction, Say

from assay.retrievers.language_models.answers import AnswerCache, KeptAnswer
from assay.retrievers.language_models.base import Prompt
from assay.retrievers.language_models.client import CallSettings, LanguageModelClient
from assay.retrievers.language_models.openai import OpenAiSettings
from assay.retrievers.services.ledger import CostLedger
from assay.retrievers.services.prices import Prices
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

PRICES = Prices(input=1, cache_write=1.25, cache_read=0.1, output=5)
MOST_OUTPUT = 50
MakeLlmFixture = Callable[[Callable[[Call], Reaction]], "LlmFixture"]


class LlmFixture:
    """A server, a model of it, a cache and a ledger."""

    def __init__(self, server, folder):
        self.server = server
        self.path = folder / "ledger.jsonl"
        self.cache = Cache(folder / "cache")
        settings = OpenAiSettings(
            model="some", base_url=f"{server.url}/v1", max_tokens=MOST_OUTPUT, timeout_seconds=5
        )
        self.model = settings.build(Resources(self.cache))
        self.answers = AnswerCache(self.cache, self.model)

    @contextmanager
    def client(self, budget=None, **settings):
        calling = CallSettings(**{"backoff_seconds": 0.01, "attempts": 4} | settings)
        with (
            CostLedger(self.path, PRICES, budget) as ledger,
            self.model,
            LanguageModelClient(self.model, ledger, calling, self.answers) as client,
        ):
            yield client


def say(call):
    """Answer with the last word of the prompt."""
    return Say(f"to {call.texts[0].split()[-1]}")


def ask(text):
    return Prompt("Some instructions.", text, shared=True)


def end(text):
    return KeptAnswer(text, "end")
