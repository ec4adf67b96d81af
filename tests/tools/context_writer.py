"""A model on a server of this machine, a cache, and two small documents."""

from collections.abc import Callable
from types import SimpleNamespace

from doubles.language_model_server import LanguageModelServer

from assay.eval.llm.job import LlmJob
from assay.eval.llm.session import LlmSession
from assay.eval.studies.ingestion.contexts import PURPOSE, make_asking
from assay.retrievers.base import AssayError, Chunk, Document
from assay.retrievers.contextualisation.plans import CACHE_KIND, make_plan
from assay.retrievers.language_models.answers import KeptAnswer
from assay.retrievers.language_models.client import CallSettings, find_prices
from assay.retrievers.language_models.providers import PROVIDERS
from assay.retrievers.services.ledger import CostLedger
from assay.retrievers.services.prices import Prices
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

PRICES = Prices(input=1, cache_write=1.25, cache_read=0.1, output=5)
LEDGERS = f"{PURPOSE}-ledger"
Job = LlmJob[str, tuple[KeptAnswer, int]]
Serve = Callable[..., LanguageModelServer]


def make_documents(documents=2, chunks=4):
    made, cut = [], []
    for number in range(documents):
        parts = [f"word{number}x{part} is explained here. " for part in range(chunks)]
        name = f"doc{number}"
        made.append(Document(name, "".join(parts), title=f"Title {number}"))
        start = 0
        for part in parts:
            end = start + len(part)
            cut.append(Chunk(f"{name}-{start}", name, start, end, part))
            start = end
    return made, cut


class ContextWriter:
    """A model of the server, a cache, and runs over the same documents."""

    def __init__(self, server, folder, provider):
        self.server = server
        self.resources = Resources(Cache(folder))
        self.provider = provider
        self.documents, self.chunks = make_documents()

    def model(self, **settings):
        url = self.server.url if self.provider == "anthropic" else f"{self.server.url}/v1"
        given = {"model": "some-model", "base_url": url} | settings
        return PROVIDERS[self.provider](**given).build(self.resources)

    def plan(self, model, window=None):
        return make_plan(self.documents, self.chunks, model, window, self.resources.cache)

    def job(self, built=None, **settings):
        calling = {"backoff_seconds": 0.01, "prices": PRICES} | {
            key: settings.pop(key) for key in tuple(settings) if key in CallSettings.model_fields
        }
        model = built or self.model(**settings)
        pace = CallSettings(**calling)
        prices = find_prices(model, pace)
        session = LlmSession(PURPOSE, model, pace, prices, self.resources, CACHE_KIND)
        return make_asking(self.plan(model), session)

    def run(self, **settings):
        job = self.job(**settings)
        known = dict(self.plan(job.session.model).known)
        outcome = SimpleNamespace(known=known, ledger=job.ledger, narrowed=0, stopped="")

        def keep(key, found):
            outcome.known[key] = found[0]
            outcome.narrowed += found[1]

        try:
            job.run(keep)
        except AssayError as error:
            outcome.stopped = str(error)
        return outcome

    def texts(self, outcome):
        keys = self.plan(self.model()).keys
        return {chunk: outcome.known[key].text for chunk, key in keys.items()}

    def account(self):
        (path,) = (self.resources.cache.root / LEDGERS).glob("*.jsonl")
        return CostLedger(path, PRICES).add_up()


def first_time(*reactions):
    """React so to the first calls about a pair, then as usual."""
    return lambda call: reactions[call.before] if call.before < len(reactions) else None
