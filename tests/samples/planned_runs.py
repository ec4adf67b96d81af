"""Stored runs whose scores are known by hand: each query's one gold passage at a planned rank."""

from dataclasses import replace

from assay.eval.collections.card import Card
from assay.eval.collections.collection import Collection, GoldItem, Query
from assay.eval.runs.execution.execution import RunSpec, execute
from assay.eval.runs.latency import LatencySettings
from assay.retrievers.base import Chunk, Document, Hit, IndexReport, Quiet, Ranking, Retriever

COMMITTED = {"git": {"commit": "a" * 40, "dirty": False}}


def make_collection(count, *, types=(), grade=1):
    """Return a collection of `count` documents and queries; query q0 is answered by document d0."""
    kinds = [types[i % len(types)] if types else "" for i in range(count)]
    return Collection(
        name="planned",
        title="Planned",
        documents=tuple(Document(f"d{i}", f"text number {i}") for i in range(count)),
        queries=tuple(Query(f"q{i}", f"question {i}", kinds[i]) for i in range(count)),
        gold={
            f"q{i}": (GoldItem(f"q{i}", f"d{i}", f"d{i}", 0, len(f"text number {i}"), grade),)
            for i in range(count)
        },
        card=Card(name="planned", title="Planned", format="native"),
    )


class Whole(Retriever):
    """Indexes whole documents; what it returns of them, a subclass says, or `answer(chunks)`."""

    nondeterministic = False

    def __init__(self, answer=None):
        self._answer = answer

    def index(self, documents):
        self._chunks = [Chunk(item.id, item.id, 0, len(item.text), item.text) for item in documents]
        return IndexReport(len(self._chunks))

    def search(self, query, k):
        return self._answer({chunk.id: chunk for chunk in self._chunks})


class Planned(Whole):
    """Returns the gold passage of each question at a planned rank; 0 leaves it out."""

    def __init__(self, ranks, degraded=()):
        self._ranks = ranks
        self._degraded = tuple(degraded)

    def search(self, query, k):
        i = int(query.split()[1])
        others = [chunk for chunk in self._chunks if chunk.id != f"d{i}"]
        if rank := self._ranks[i]:
            others.insert(rank - 1, self._chunks[i])
        hits = tuple(Hit(chunk, float(-place)) for place, chunk in enumerate(others[:k]))
        return Ranking(hits, degraded=self._degraded)

    def metadata(self):
        return {"ranks": list(self._ranks), "degraded": self._degraded}


def make_run(folder, name, ranks, *, collection=None, limit=None, degraded=()):
    """Return a run that ranks the gold passage of query i at `ranks[i]`.

    It is as of committed code, and as of a machine of which nobody knows how busy it was.
    """
    collection = collection or make_collection(len(ranks))
    config = {"name": name, "limit": limit}
    plan = RunSpec(name, config, 100, limit, LatencySettings(queries=4, warm_up=0))
    run = execute(plan, Planned(ranks, degraded), collection, folder, Quiet()).run
    environment = run.manifest.environment | COMMITTED
    update = {"environment": environment, "load": None}
    return replace(run, manifest=run.manifest.model_copy(update=update))
