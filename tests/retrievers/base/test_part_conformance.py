"""The rules for the parts of a pipeline: those of this project keep them, and each can fail."""

import threading
from dataclasses import replace
from functools import partial
from itertools import count

import numpy as np
import pytest
from doubles.language_model_server import LanguageModelServer, Say
from tools.part_settings import read_settings

from assay.retrievers.base import AssayError, Hit
from assay.retrievers.conformance import ConformanceError, check_retriever
from assay.retrievers.engines.conformance import RULES as ENGINE_RULES
from assay.retrievers.engines.conformance import check_engine
from assay.retrievers.legs.base import LegResult
from assay.retrievers.legs.conformance import RULES as LEG_RULES
from assay.retrievers.legs.registry import AnyLeg
from assay.retrievers.models.conformance import CROSS_ENCODER_RULES, ENCODER_RULES
from assay.retrievers.models.cross_encoders import CrossEncoderSettings
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.part_conformance import check_part
from assay.retrievers.query.base import StepResult
from assay.retrievers.query.conformance import RULES as STEP_RULES
from assay.retrievers.query.registry import AnyQueryStep
from assay.retrievers.settings import Resources
from assay.retrievers.stages.base import ORDER, StageResult, descend
from assay.retrievers.stages.conformance import RULES as STAGE_RULES
from assay.retrievers.stages.registry import AnyStage
from assay.retrievers.store.cache import Cache, default_root
from examples.abbreviation_step import Abbreviations, AbbreviationSettings
from examples.hashing_encoder import Hashing, HashingSettings
from examples.heading_leg import HeadingLeg, HeadingSettings
from examples.memory_engine import Memory, MemorySettings
from examples.minimum_stage import Minimum, MinimumSettings
from examples.overlap_cross_encoder import Overlap, OverlapSettings
from examples.paragraph_chunker import ParagraphChunker
from examples.word_overlap import WordOverlap

LEGS = ("dense", "sparse", "late_interaction", "bm25", "code", "exact", "definitions",
        "graph", "native_hybrid", "engine_dense", "engine_keyword")  # fmt: skip
STAGES = [name for names in ORDER for name in names]
STEPS = ({"type": "classify"}, {"type": "expand"}, {"type": "filter", "from_query": True})
SHORT = {"db": "database"}
RERANKED = {"type": "rerank", "model": {"max_tokens": 32}, "enough": 0.001}


@pytest.fixture
def resources():
    return Resources(Cache(default_root()))


@pytest.mark.slow
@pytest.mark.parametrize(
    "values", [*({"type": name} for name in LEGS), {"type": "bm25", "weights": {}}], ids=str
)
def test_the_legs_keep_the_rules(values, resources):
    check_part(read_settings(AnyLeg, values), resources)


@pytest.mark.parametrize("values", [*({"type": name} for name in STAGES), RERANKED], ids=str)
def test_the_stages_keep_the_rules(values, resources):
    check_part(read_settings(AnyStage, values), resources)


@pytest.mark.parametrize("values", STEPS, ids=lambda values: values["type"])
def test_the_query_steps_keep_the_rules(values, resources):
    check_part(read_settings(AnyQueryStep, values), resources)


@pytest.mark.slow
@pytest.mark.parametrize("type_", ["hyde", "multi_query"])
def test_steps_by_a_language_model_keep_the_rules(type_, tmp_path):
    pytest.importorskip("openai", reason="needs the extra `openai`")
    with LanguageModelServer(lambda call: Say("some text\nand more")) as server:
        values = {"type": type_, "model": {"type": "openai", "base_url": server.url}}
        check_part(read_settings(AnyQueryStep, values), Resources(Cache(tmp_path)))


@pytest.mark.slow
def test_the_models_keep_the_rules(resources):
    check_part(EncoderSettings(), resources)
    check_part(CrossEncoderSettings(), resources)


def test_the_examples_keep_the_rules():
    check_retriever(WordOverlap)
    check_part(HeadingSettings())
    check_part(MinimumSettings())
    check_part(AbbreviationSettings(words=SHORT))
    check_part(HashingSettings())
    check_part(OverlapSettings())
    check_part(ParagraphChunker())
    check_engine(MemorySettings())


class LoneEngine(Memory):
    searches = ("dense",)

    def keyword(self, text, limit):
        raise AssayError("it has no keyword search")

    def hybrid(self, text, vector, limit):
        raise AssayError("it has no hybrid search")


class BoastingEngine(LoneEngine):
    def keyword(self, text, limit):
        return []


class MutteringEngine(LoneEngine):
    def hybrid(self, text, vector, limit):
        raise AssayError("no")


def test_an_engine_of_one_list_refuses_the_others():
    settings = MemorySettings()
    for rule in ENGINE_RULES:
        rule.check(lambda: LoneEngine(settings))
    (refused,) = (rule for rule in ENGINE_RULES if "missing_is_refused" in str(rule))
    with pytest.raises(ConformanceError, match="no keyword search, and answers one"):
        refused.check(lambda: BoastingEngine(settings))
    with pytest.raises(ConformanceError, match="does not tell what is missing"):
        refused.check(lambda: MutteringEngine(settings))


turns = count(1)


def make(kind, **methods):
    """Return an example's class with other methods."""
    return type(kind.__name__, (kind,), methods)


def share(kind, method):
    """Return an example's class, a method of which has a state that other threads change."""

    def start(self, *given):
        kind.__init__(self, *given)
        setattr(self, method, shared(partial(getattr(kind, method), self)))

    def shared(search):
        state = []

        def call(asked, *others):
            state[:] = [asked]
            threading.Event().wait(0.001)
            return search(state[0], *others)

        return call

    return make(kind, __init__=start)


def search_no_operator(self, query, depth):
    if "(" in query:
        raise ValueError("an operator")
    return HeadingLeg.search(self, query, depth)


def search_list(make_list):
    """Return a leg of a given list, cut to what is indexed."""
    return make(
        HeadingLeg,
        search=lambda self, query, depth: LegResult(make_list()[: len(self.words)], {"search": 0}),
    )


def hoard(self, corpus):
    before = getattr(self, "words", [])
    report = HeadingLeg.index(self, corpus)
    self.words = before + self.words
    return report


def search_otherwise(change):
    return make(
        HeadingLeg,
        search=lambda self, query, depth: change(HeadingLeg.search(self, query, depth)),
    )


def relist(change):
    """Return a stage that changes its hits."""
    return make(Minimum, apply=lambda self, query, hits: StageResult(change(list(hits))))


def empty(self, query, hits):
    given = list(hits)
    hits.clear()
    return StageResult(given)


def invent(self, query, hits):
    return Minimum.apply(self, query, hits or self.known)


def know(self, corpus, top):
    self.known = [Hit(corpus.chunks[0], 1.0)]


def shout(hits):
    return [replace(hit, chunk=replace(hit.chunk, text=hit.chunk.text.upper())) for hit in hits]


def list_by_name(hits):
    named = sorted(hits, key=lambda hit: hit.chunk.id, reverse=True)
    return descend((hit, hit.score) for hit in named)


def split_query(self, query, hits):
    query.split()[0]
    return Minimum.apply(self, query, hits)


def score_by_length(self, query, hits):
    """Score hits by the length of the query, so that answers of threads can be told apart."""
    return StageResult([replace(hit, score=hit.score * len(query)) for hit in hits])


def step(change):
    return make(Abbreviations, apply=lambda self, request: StepResult(change(request)))


def split_text(request):
    request.text.split()[0]
    return request


def centre(self, texts):
    rows = Hashing.encode_passages(self, texts)
    rows = rows - rows.mean(axis=0) / 2
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def compare(self, query, texts):
    scores = Overlap.score(self, query, texts)
    return [score - min(scores) for score in scores]


BROKEN_LEGS = {
    "at_most_depth": search_otherwise(lambda it: replace(it, candidates=it.candidates * 2)),
    "best_first": search_list(lambda: [(0, 1.0), (1, 2.0)]),
    "same_answer_again": search_list(lambda: [(0, float(next(turns)))]),
    "odd_queries_are_answered": make(HeadingLeg, search=search_no_operator),
    "indexing_replaces": make(HeadingLeg, index=hoard),
    "restricted_legs_find_the_rest_in_order": make(HeadingLeg, restrict=lambda self, _: self),
    "times_are_told": search_otherwise(lambda it: replace(it, milliseconds={})),
    "threads_are_safe": share(HeadingLeg, "search"),
}
BROKEN_STAGES = {
    "best_first": relist(lambda hits: hits[::-1]),
    "nothing_from_nothing": make(Minimum, apply=invent, index=know),
    "given_hits_stay": make(Minimum, apply=empty),
    "pinned_stay_first": relist(list_by_name),
    "chunks_are_true": relist(shout),
    "same_answer_again": relist(lambda hits: hits[next(turns) % 2 :]),
    "odd_queries_are_answered": make(Minimum, apply=split_query),
    "threads_are_safe": share(make(Minimum, apply=score_by_length), "apply"),
}
BROKEN_STEPS = {
    "legs_are_those_given": step(lambda asked: replace(asked, factors={"no such leg": 1.0})),
    "limits_stand": step(lambda asked: replace(asked, allowed=None)),
    "same_answer_again": step(lambda asked: replace(asked, text=str(next(turns)))),
    "odd_queries_are_answered": step(split_text),
    "threads_are_safe": share(Abbreviations, "apply"),
}
BROKEN_ENCODERS = {
    "vectors_are_of_unit_length": make(
        Hashing, encode_query=lambda self, text: Hashing.encode_query(self, text) * 2
    ),
    "texts_are_encoded_apart": make(Hashing, encode_passages=centre),
    "encoders_are_alike": make(Hashing, identity=""),
    "texts_are_told_apart": make(
        Hashing, encode_query=lambda self, text: Hashing.encode_query(self, "")
    ),
}
BROKEN_CROSS_ENCODERS = {
    "each_text_has_a_score": make(
        Overlap, score=lambda self, query, texts: [*Overlap.score(self, query, texts), 0.0]
    ),
    "pairs_are_scored_apart": make(Overlap, score=compare),
    "cross_encoders_are_alike": make(Overlap, identity=""),
}
FAULTS = [
    *((rule, BROKEN_LEGS[rule.name]) for rule in LEG_RULES),
    *((rule, lambda made=BROKEN_STAGES[rule.name]: made(1)) for rule in STAGE_RULES),
    *((rule, lambda made=BROKEN_STEPS[rule.name]: made(SHORT)) for rule in STEP_RULES),
    *((rule, BROKEN_ENCODERS[rule.name]) for rule in ENCODER_RULES),
    *((rule, BROKEN_CROSS_ENCODERS[rule.name]) for rule in CROSS_ENCODER_RULES),
]


@pytest.mark.parametrize(
    ("rule", "make"), FAULTS, ids=lambda part: getattr(part, "__name__", str(part))
)
def test_every_rule_catches_its_breach(rule, make):
    with pytest.raises(ConformanceError):
        rule.check(make)
