"""Every retriever keeps every rule, and every rule catches a retriever that breaks it."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tools.processes import pipelines

from assay.eval.configs.config import load_config
from assay.retrievers.base import Chunk, Document, Hit, IndexReport, Ranking, Retriever, StageTrace
from assay.retrievers.conformance import (
    RULES,
    ConformanceError,
    Subject,
    check_retriever,
    make_rules,
    require,
)
from assay.retrievers.models.base import Vectors
from assay.retrievers.models.onnx import OnnxEncoder
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root


@pytest.fixture(scope="module", autouse=True)
def encoded_once():
    """All rules ask the same queries. What encodes them keeps rules of its own."""
    kept: dict[tuple[str, str, str], Vectors] = {}
    encode = OnnxEncoder.encode_query

    def encode_once(self: OnnxEncoder, text: str) -> Vectors:
        key = (self.identity, self._recipe.query_prefix, text)
        if key not in kept:
            kept[key] = encode(self, text)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OnnxEncoder, "encode_query", encode_once)
        yield


def ties_by_descending_id(subject):
    """What pipelines of ours promise besides: equal scores stand by descending id."""
    for ranking in subject.search().values():
        keys = [(hit.score, hit.chunk.id) for hit in ranking.hits]
        require(keys == sorted(keys, reverse=True), f"not by descending id: {keys}")


OWN_RULES = (*RULES, *make_rules(ties_by_descending_id))


@pytest.mark.slow
@pytest.mark.parametrize("rule", OWN_RULES, ids=str)
@pytest.mark.parametrize("path", pipelines(), ids=lambda path: path.stem)
def test_configs_keep_the_rules(rule, path):
    config = load_config(path)
    rule.check(Subject(lambda: config.build(Resources(Cache(default_root())))))


# What no config at hand uses, by what it is: the settings of a pipeline.
PIPELINES: dict[str, dict[str, Any]] = {
    "bm25f": {"legs": {"keyword": {"type": "bm25", "weights": {}}}},
    "code": {
        "legs": {"keyword": {"type": "bm25"}, "code": {"type": "code"}},
        "fusion": {"type": "rrf"},
    },
    "graph": {
        "legs": {"keyword": {"type": "bm25"}, "links": {"type": "graph", "hops": 2}},
        "fusion": {"type": "rrf"},
    },
    "graph beside dense": {
        "legs": {"dense": {"type": "dense"}, "links": {"type": "graph"}},
        "fusion": {"type": "linear"},
    },
    "exact and definitions": {
        "legs": {
            "keyword": {"type": "bm25"},
            "exact": {"type": "exact"},
            "terms": {"type": "definitions"},
        },
        "fusion": {"type": "rrf", "boosts": {"exact": 10.0, "terms": 30.0}},
        "stages": [{"type": "definitions"}],
    },
    "expand and classify": {
        "query": [{"type": "classify"}, {"type": "expand", "legs": ["semantic", "keyword"]}],
        "legs": {"dense": {"type": "dense"}, "keyword": {"type": "bm25"}},
        "fusion": {"type": "rrf"},
    },
    "cache": {"legs": {"keyword": {"type": "bm25"}}, "cache": {"type": "memory", "size": 3}},
    "filter": {
        "query": [{"type": "filter", "path": "*.md", "from_query": True}],
        "legs": {"keyword": {"type": "bm25"}},
    },
    "postgres": {"legs": {"native": {"type": "native_hybrid", "engine": {"type": "postgres"}}}},
    "sqlite": {"legs": {"native": {"type": "native_hybrid", "engine": {"type": "sqlite"}}}},
    "lancedb": {"legs": {"native": {"type": "native_hybrid", "engine": {"type": "lancedb"}}}},
    "faiss": {"legs": {"dense": {"type": "engine_dense", "engine": {"type": "faiss"}}}},
    "words": {"legs": {"words": {"type": "engine_keyword", "engine": {"type": "sqlite"}}}},
    "chroma": {"legs": {"dense": {"type": "engine_dense", "engine": {"type": "chroma"}}}},
}


# Legs on engines that differ from those beside them by the engine, which keeps rules of its own.
LIKE_OTHERS = ("postgres", "lancedb", "chroma", "words")


@pytest.mark.parametrize("rule", OWN_RULES, ids=str)
@pytest.mark.parametrize(
    "name",
    [pytest.param(it, marks=[pytest.mark.long] * (it in LIKE_OTHERS)) for it in PIPELINES],
)
def test_pipelines_keep_the_rules(rule, name):
    config = PipelineConfig.model_validate({"name": "under-test", "retriever": PIPELINES[name]})
    rule.check(Subject(lambda: config.build(Resources(Cache(default_root())))))


# Stages one by one over two cheap legs, and all that fit together; chunks here have parents.
CUT = {"chunker": {"type": "parent_child", "parent_tokens": 32, "parent_overlap_tokens": 0,
                   "max_tokens": 16, "overlap_tokens": 0}}  # fmt: skip
KEYWORDS = {
    "legs": {"stems": {"type": "bm25"}, "words": {"type": "bm25", "analyzer": "words"}},
    "fusion": {"type": "rrf"},
}
HYBRID = {
    "legs": {"dense": {"type": "dense"}, "keyword": {"type": "bm25"}},
    "fusion": {"type": "rrf", "boosts": {"keyword": 0.01}},
}
LINEAR = {**KEYWORDS, "fusion": {"type": "linear"}}
TODAY = {"type": "recency", "today": "2024-01-31"}
LOW = {"type": "threshold", "minimum": 0.1}
STAGES: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "recency": (KEYWORDS, [TODAY]),
    "calibrate and threshold": (LINEAR, ["calibrate", LOW]),
    "threshold by a leg": (HYBRID, [{**LOW, "of": "dense"}]),
    "content_hash": (KEYWORDS, ["content_hash"]),
    "ngram": (KEYWORDS, [{"type": "ngram", "unit": "character"}]),
    "semantic": (HYBRID, ["semantic"]),
    "mmr": (HYBRID, [{"type": "mmr", "top_n": 3}]),
    "parents": (KEYWORDS, ["parents"]),
    "neighbours": (LINEAR, ["calibrate", {"type": "neighbours", "query_tokens": 3}]),
    "context": (KEYWORDS, [{"type": "context", "max_tokens": 90}]),
    "all with parents": (
        HYBRID,
        [TODAY, "calibrate", {**LOW, "of": "dense"}, "content_hash", "ngram", "semantic",
         {"type": "per_document", "limit": 3}, {"type": "rerank", "depth": 3}, "parents",
         {"type": "context", "max_tokens": 200}],
    ),
    "all with neighbours": (
        HYBRID,
        [TODAY, "calibrate", {**LOW, "of": "dense"}, "content_hash", "ngram",
         {"type": "mmr", "relevance": "score"},
         "per_document", {"type": "neighbours", "score_delta": None, "query_tokens": 1},
         {"type": "context", "max_tokens": 200, "on_overflow": "skip"}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", OWN_RULES, ids=str)
@pytest.mark.parametrize("name", STAGES)
def test_stages_keep_the_rules(rule, name):
    recipe, named = STAGES[name]
    stages = [{"type": stage} if isinstance(stage, str) else stage for stage in named]
    config = PipelineConfig.model_validate(
        {"name": "under-test", "documents": CUT, "retriever": {**recipe, "stages": stages}}
    )
    rule.check(Subject(lambda: config.build(Resources(Cache(default_root())))))


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


class TiesByOrderOfDocuments(Overlap):
    def search(self, query: str, k: int) -> Ranking:
        places = {chunk.id: i for i, chunk in enumerate(self.chunks)}
        hits = super().search(query, 100).hits
        return Ranking(tuple(sorted(hits, key=lambda h: (-h.score, places[h.chunk.id])))[:k])


class ReturnsNumbers(Overlap):
    def search(self, query: str, k: int) -> Any:
        return [len(query)]


class ReportsNothing(Overlap):
    def index(self, documents: Sequence[Document]) -> Any:
        super().index(documents)


class WorstFirst(Overlap):
    def search(self, query: str, k: int) -> Ranking:
        return Ranking(super().search(query, 100).hits[::-1][:k])


class TiesByAscendingId(Overlap):
    def search(self, query: str, k: int) -> Ranking:
        hits = super().search(query, 100).hits
        return Ranking(tuple(sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id)))[:k])


class Pairs(Overlap):
    """Returns what a function may return."""

    def search(self, query: str, k: int) -> Any:
        return [(hit.chunk.id, hit.score) for hit in super().search(query, k).hits]


class Hits(Overlap):
    """Returns the hits without their ranking."""

    def search(self, query: str, k: int) -> Any:
        return list(super().search(query, k).hits)


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
        hits = (Hit(c, -float(i)) for i, c in enumerate(self.chunks) if c.id in found)
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
    def without_query_cache(self) -> Retriever:
        other = FindsNothing()
        other.chunks = self.chunks
        return other


class PlainlyShort(Overlap):
    def search_plain(self, query: str, k: int) -> Ranking:
        return self.search(query, k - 1)


class FalseTrace(Overlap):
    def search(self, query: str, k: int) -> Ranking:
        ranking = super().search(query, k)
        return replace(ranking, trace=(StageTrace("overlap", "leg", -1.0),))


BROKEN: dict[str, Callable[[], Retriever]] = {
    "answers_in_form": ReturnsNumbers,
    "at_most_k": TooMany,
    "no_chunk_twice": Doubled,
    "best_first": WorstFirst,
    "same_answer_again": Drifting,
    "smaller_k_is_a_prefix": WorseWithFewer,
    "result_does_not_depend_on_the_order_of_documents": FirstComesFirst,
    "chunks_are_true": WrongOffsets,
    "finds_what_is_there": FindsNothing,
    "blank_finds_nothing": AnswersBlank,
    "odd_queries_are_answered": Fragile,
    "indexing_replaces": Hoarding,
    "edits_are_seen": KnowsById,
    "threads_are_safe": Shared,
    "same_without_query_cache": TimedElsewhere,
    "same_when_searched_plainly": PlainlyShort,
    "trace_agrees": FalseTrace,
}


@pytest.mark.parametrize("made", [Overlap, TiesByAscendingId, TiesByOrderOfDocuments, Pairs, Hits])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_sound_retriever_passes(rule, made):
    rule.check(Subject(made))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_every_rule_catches_its_breach(rule):
    with pytest.raises(ConformanceError):
        rule.check(Subject(BROKEN[rule.name]))


def test_pipelines_of_ours_order_equal_scores():
    ties_by_descending_id(Subject(Overlap))
    with pytest.raises(ConformanceError, match="not by descending id"):
        ties_by_descending_id(Subject(TiesByAscendingId))


def test_an_index_that_reports_nothing_is_told_how():
    told = r"index returned None; return IndexReport\(chunks=…\) of assay\.retrievers\.base"
    with pytest.raises(ConformanceError, match=told):
        check_retriever(ReportsNothing)
