"""Every retriever keeps every rule, and every rule catches a retriever that breaks it."""

import threading
from dataclasses import replace
from itertools import count

import pytest
from tools.processes import pipelines

from assay.eval.configs.config import load_config
from assay.retrievers.base import Chunk, Hit, IndexReport, Ranking, Retriever, StageTrace
from assay.retrievers.conformance import (
    RULES,
    ConformanceError,
    Subject,
    check_retriever,
    make_rules,
    require,
)
from assay.retrievers.models.onnx import OnnxEncoder
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root


@pytest.fixture(scope="module", autouse=True)
def encoded_once():
    """All rules ask the same queries. What encodes them keeps rules of its own."""
    kept = {}
    encode = OnnxEncoder.encode_query

    def encode_once(self, text):
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


BM25, GRAPH = {"type": "bm25"}, {"type": "graph"}


def combine(fusion="rrf", **legs):
    """Return the settings of a pipeline of legs, fused where there are several."""
    return {"legs": legs} | ({"fusion": {"type": fusion}} if len(legs) > 1 else {})


def place(type_, engine):
    """Return the settings of a pipeline of one leg in an engine."""
    return combine(leg={"type": type_, "engine": {"type": engine}})


PIPELINES = {
    "bm25f": combine(keyword=BM25 | {"weights": {}}),
    "code": combine(keyword=BM25, code={"type": "code"}),
    "graph": combine(keyword=BM25, links=GRAPH | {"hops": 2}),
    "graph beside dense": combine("linear", dense={"type": "dense"}, links=GRAPH),
    "exact and definitions": {
        **combine(keyword=BM25, exact={"type": "exact"}, terms={"type": "definitions"}),
        "fusion": {"type": "rrf", "boosts": {"exact": 10.0, "terms": 30.0}},
        "stages": [{"type": "definitions"}],
    },
    "expand and classify": {
        **combine(dense={"type": "dense"}, keyword=BM25),
        "query": [{"type": "classify"}, {"type": "expand", "legs": ["semantic", "keyword"]}],
    },
    "cache": {**combine(keyword=BM25), "cache": {"type": "memory", "size": 3}},
    "filter": {
        **combine(keyword=BM25),
        "query": [{"type": "filter", "path": "*.md", "from_query": True}],
    },
    "postgres": place("native_hybrid", "postgres"),
    "sqlite": place("native_hybrid", "sqlite"),
    "lancedb": place("native_hybrid", "lancedb"),
    "faiss": place("engine_dense", "faiss"),
    "words": place("engine_keyword", "sqlite"),
    "chroma": place("engine_dense", "chroma"),
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
STAGES = {
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

    def index(self, documents):
        self.chunks = [Chunk(d.id, d.id, 0, len(d.text), d.text) for d in documents if d.text]
        return IndexReport(len(self.chunks))

    def search(self, query, k):
        words = set(query.lower().split())
        shared = [(len(words & set(c.text.lower().split())), c.id, c) for c in self.chunks]
        best = sorted((item for item in shared if item[0]), reverse=True)[:k]
        hits = tuple(Hit(chunk, float(score)) for score, _, chunk in best)
        candidates = tuple((hit.chunk.id, hit.score) for hit in hits)
        return Ranking(hits, (StageTrace("overlap", "leg", 0.0, candidates),))


find, note = Overlap.search, Overlap.index
drift = count()


def make(**methods):
    """Return the sound retriever with other methods."""
    return type("Changed", (Overlap,), methods)


def relist(change):
    """Return the sound retriever with a change of its hits, best first, of which k are wanted."""

    def search(self, query, k):
        return Ranking(tuple(change(self, find(self, query, 100).hits, k)))

    return make(search=search)


def list_by_place(self, hits, k):
    places = {chunk.id: i for i, chunk in enumerate(self.chunks)}
    return sorted(hits, key=lambda hit: (-hit.score, places[hit.chunk.id]))[:k]


def score_by_place(self, hits, k):
    found = {hit.chunk.id for hit in hits}
    return [Hit(c, -float(i)) for i, c in enumerate(self.chunks) if c.id in found][:k]


def spoil_offsets(self, hits, k):
    return [replace(hit, chunk=replace(hit.chunk, start=1)) for hit in hits[:k]]


def encode_query(self, query, k):
    query.encode("latin-1", errors="strict" if "🛳️" in query else "ignore")
    return find(self, query, k)


def hoard(self, documents):
    before = getattr(self, "chunks", [])
    report = note(self, documents)
    self.chunks = before + self.chunks
    return report


def keep_known(self, documents):
    """Take a document for unchanged where its id is known."""
    before = {chunk.id: chunk for chunk in getattr(self, "chunks", [])}
    report = note(self, documents)
    self.chunks = [before.get(chunk.id, chunk) for chunk in self.chunks]
    return report


def share_query(self, query, k):
    """Keep the current query where other threads change it."""
    self.query = query
    threading.Event().wait(0.001)
    return find(self, self.query, k)


def find_elsewhere(self):
    other = relist(lambda *_: ())()
    other.chunks = self.chunks
    return other


def trace_falsely(self, query, k):
    return replace(find(self, query, k), trace=(StageTrace("overlap", "leg", -1.0),))


SOUND = {
    "overlap": Overlap,
    "ties by ascending id": relist(
        lambda self, hits, k: sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))[:k]
    ),
    "ties by order of documents": relist(list_by_place),
    "pairs, as of a function": make(
        search=lambda self, query, k: [(h.chunk.id, h.score) for h in find(self, query, k).hits]
    ),
    "hits without a ranking": make(search=lambda self, query, k: list(find(self, query, k).hits)),
}


BROKEN = {
    "answers_in_form": make(search=lambda self, query, k: [len(query)]),
    "at_most_k": relist(lambda self, hits, k: hits[: k + 1]),
    "no_chunk_twice": relist(lambda self, hits, k: (*hits[:1], *hits)[:k]),
    "best_first": relist(lambda self, hits, k: hits[::-1][:k]),
    "same_answer_again": relist(lambda self, hits, k: hits[:k][next(drift) % 2 :]),
    "smaller_k_is_a_prefix": relist(lambda _, hits, k: hits[1 : k + 1] if k < 3 else hits[:k]),
    "result_does_not_depend_on_the_order_of_documents": relist(score_by_place),
    "chunks_are_true": relist(spoil_offsets),
    "finds_what_is_there": relist(lambda *_: ()),
    "blank_finds_nothing": make(search=lambda self, q, k: find(self, q if q.strip() else "the", k)),
    "odd_queries_are_answered": make(search=encode_query),
    "indexing_replaces": make(index=hoard),
    "edits_are_seen": make(index=keep_known),
    "threads_are_safe": make(search=share_query),
    "same_without_query_cache": make(without_query_cache=find_elsewhere),
    "same_when_searched_plainly": make(search_plain=lambda self, q, k: self.search(q, k - 1)),
    "trace_agrees": make(search=trace_falsely),
}


@pytest.mark.parametrize("made", SOUND.values(), ids=SOUND)
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
        ties_by_descending_id(Subject(SOUND["ties by ascending id"]))


def test_an_index_that_reports_nothing_is_told_how():
    told = r"index returned None; return IndexReport\(chunks=…\) of assay\.retrievers\.base"
    with pytest.raises(ConformanceError, match=told):
        check_retriever(make(index=lambda self, documents: note(self, documents) and None))
