"""Every retriever keeps every rule, and every rule catches a retriever that breaks it."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from processes import pipelines

from eval.cli.config import load_config
from retrievers.base import Chunk, Document, Hit, IndexReport, Ranking, Retriever, StageTrace
from retrievers.conformance import RULES, ConformanceError, Rule
from retrievers.settings import Workshop
from retrievers.store.cache import Cache, default_root


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("path", pipelines(), ids=lambda path: path.stem)
def test_configs_keep_the_rules(rule: Rule, path: Path) -> None:
    config = load_config(path)
    rule.check(lambda: config.build(Workshop(Cache(default_root()))))


class Overlap(Retriever):
    """Counts shared words: the simplest retriever that keeps every rule."""

    def index(self, documents: Sequence[Document]) -> IndexReport:
        self.chunks = [Chunk(d.id, d.id, 0, len(d.text), d.text) for d in documents if d.text]
        return IndexReport(len(self.chunks))

    def search(self, query: str, k: int) -> Ranking:
        words = set(query.lower().split())
        shared = [(len(words & set(c.text.lower().split())), c.id, c) for c in self.chunks]
        best = sorted((item for item in shared if item[0]), reverse=True)[:k]
        hits = tuple(Hit(chunk, float(score)) for score, _, chunk in best)
        candidates = tuple((hit.chunk.id, hit.score) for hit in hits)
        return Ranking(hits, (StageTrace("overlap", "leg", 0.0, candidates),))


class TooMany(Overlap):
    def search(self, query: str, k: int) -> Ranking:
        return super().search(query, k + 1)


class Doubled(Overlap):
    def search(self, query: str, k: int) -> Ranking:
        hits = super().search(query, k).hits
        return Ranking((*hits[:1], *hits)[:k])


class TiesByAscendingId(Overlap):
    def search(self, query: str, k: int) -> Ranking:
        hits = super().search(query, 100).hits
        return Ranking(tuple(sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id)))[:k])


class Drifting(Overlap):
    calls = 0

    def search(self, query: str, k: int) -> Ranking:
        Drifting.calls += 1
        hits = super().search(query, k).hits
        return Ranking(hits[Drifting.calls % 2 :])


class WorseWithFewer(Overlap):
    def search(self, query: str, k: int) -> Ranking:
        hits = super().search(query, 100).hits
        return Ranking(hits[1 : k + 1] if k < 3 else hits[:k])


class FirstComesFirst(Overlap):
    def search(self, query: str, k: int) -> Ranking:
        found = {hit.chunk.id for hit in super().search(query, 100).hits}
        hits = (Hit(c, -float(at)) for at, c in enumerate(self.chunks) if c.id in found)
        return Ranking(tuple(hits)[:k])


class WrongOffsets(Overlap):
    def search(self, query: str, k: int) -> Ranking:
        hits = super().search(query, k).hits
        return Ranking(tuple(replace(h, chunk=replace(h.chunk, start=1)) for h in hits))


class FindsNothing(Overlap):
    def search(self, query: str, k: int) -> Ranking:
        return Ranking(())


class AnswersBlank(Overlap):
    def search(self, query: str, k: int) -> Ranking:
        return super().search(query if query.strip() else "the", k)


class Fragile(Overlap):
    def search(self, query: str, k: int) -> Ranking:
        query.encode("latin-1", errors="strict" if "🛳️" in query else "ignore")
        return super().search(query, k)


class Hoarding(Overlap):
    def index(self, documents: Sequence[Document]) -> IndexReport:
        before = getattr(self, "chunks", [])
        report = super().index(documents)
        self.chunks = before + self.chunks
        return report


class KnowsById(Overlap):
    """Takes a document for unchanged when it knows its id."""

    def index(self, documents: Sequence[Document]) -> IndexReport:
        before = {chunk.id: chunk for chunk in getattr(self, "chunks", [])}
        report = super().index(documents)
        self.chunks = [before.get(chunk.id, chunk) for chunk in self.chunks]
        return report


class Shared(Overlap):
    """Keeps the current query where other threads change it."""

    def search(self, query: str, k: int) -> Ranking:
        self.query = query
        threading.Event().wait(0.001)
        return super().search(self.query, k)


class TimedElsewhere(Overlap):
    def timed(self) -> Retriever:
        other = FindsNothing()
        other.chunks = self.chunks
        return other


class FalseTrace(Overlap):
    def search(self, query: str, k: int) -> Ranking:
        ranking = super().search(query, k)
        return replace(ranking, trace=(StageTrace("overlap", "leg", -1.0),))


BROKEN: dict[str, Callable[[], Retriever]] = {
    "at_most_k": TooMany,
    "no_chunk_twice": Doubled,
    "best_first": TiesByAscendingId,
    "same_answer_again": Drifting,
    "smaller_k_is_a_prefix": WorseWithFewer,
    "order_of_documents_is_nothing": FirstComesFirst,
    "chunks_are_true": WrongOffsets,
    "finds_what_is_there": FindsNothing,
    "blank_finds_nothing": AnswersBlank,
    "odd_queries_are_answered": Fragile,
    "indexing_replaces": Hoarding,
    "edits_are_seen": KnowsById,
    "threads_are_safe": Shared,
    "timed_is_the_same": TimedElsewhere,
    "trace_agrees": FalseTrace,
}


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_sound_retriever_passes(rule: Rule) -> None:
    rule.check(Overlap)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_every_rule_catches_its_breach(rule: Rule) -> None:
    with pytest.raises(ConformanceError):
        rule.check(BROKEN[rule.name])
