"""The rules for the parts of a pipeline: those of this project keep them, and each can fail."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from doubles.language_model_server import LanguageModelServer, Say
from tools.part_settings import read_settings

from assay.retrievers.base import AssayError, Hit, IndexReport
from assay.retrievers.conformance import ConformanceError, check_retriever
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.engines.conformance import RULES as ENGINE_RULES
from assay.retrievers.engines.conformance import check_engine
from assay.retrievers.fusion.ranking import Positions, Scored
from assay.retrievers.legs.base import Leg, LegResult
from assay.retrievers.legs.conformance import RULES as LEG_RULES
from assay.retrievers.legs.leg_query import LegQuery
from assay.retrievers.legs.registry import AnyLeg
from assay.retrievers.models.base import Vectors
from assay.retrievers.models.conformance import (
    CROSS_ENCODER_RULES,
    ENCODER_RULES,
)
from assay.retrievers.models.cross_encoders import CrossEncoderSettings
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.part_conformance import check_part
from assay.retrievers.query.base import QueryStep, StepResult
from assay.retrievers.query.conformance import RULES as STEP_RULES
from assay.retrievers.query.registry import AnyQueryStep
from assay.retrievers.settings import Resources
from assay.retrievers.stages.base import ORDER, Stage, StageResult, descend
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


@pytest.fixture
def resources():
    return Resources(Cache(default_root()))


def read(kind, value):
    return read_settings(kind, value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "values", [*({"type": name} for name in LEGS), {"type": "bm25", "weights": {}}], ids=str
)
def test_the_legs_keep_the_rules(values, resources):
    check_part(read(AnyLeg, values), resources)


@pytest.mark.parametrize("name", STAGES)
def test_the_stages_keep_the_rules(name, resources):
    check_part(read(AnyStage, {"type": name}), resources)


def test_reranking_keeps_the_rules_however_it_is_set(resources):
    values = {"type": "rerank", "model": {"max_tokens": 32}, "enough": 0.001}
    check_part(read(AnyStage, values), resources)


@pytest.mark.parametrize("values", STEPS, ids=lambda values: values["type"])
def test_the_query_steps_keep_the_rules(values, resources):
    check_part(read(AnyQueryStep, values), resources)


@pytest.mark.slow
@pytest.mark.parametrize("type_", ["hyde", "multi_query"])
def test_steps_by_a_language_model_keep_the_rules(type_, tmp_path):
    pytest.importorskip("openai", reason="needs the extra `openai`")
    with LanguageModelServer(lambda call: Say("some text\nand more")) as server:
        model = {"type": "openai", "base_url": server.url}
        check_part(read(AnyQueryStep, {"type": type_, "model": model}), Resources(Cache(tmp_path)))


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

    def keyword(self, text: str, limit: int) -> list[Scored]:
        raise AssayError("it has no keyword search")

    def hybrid(self, text: str, vector: Vectors, limit: int) -> list[Scored]:
        raise AssayError("it has no hybrid search")


class BoastingEngine(LoneEngine):
    def keyword(self, text: str, limit: int) -> list[Scored]:
        return []


class MutteringEngine(LoneEngine):
    def hybrid(self, text: str, vector: Vectors, limit: int) -> list[Scored]:
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


class TwiceLeg(HeadingLeg):
    def search(self, query: str, depth: int) -> LegResult:
        found = super().search(query, depth)
        return replace(found, candidates=found.candidates * 2)


class LeakingLeg(HeadingLeg):
    def restrict(self, allowed: Positions) -> Leg:
        return self


class WorstFirstLeg(HeadingLeg):
    def search(self, query: str, depth: int) -> LegResult:
        return LegResult([(0, 1.0), (1, 2.0)][: len(self.words)], {"search": 0.0})


class DriftingLeg(HeadingLeg):
    count = 0

    def search(self, query: str, depth: int) -> LegResult:
        self.count += 1
        return LegResult([(0, float(self.count))][: len(self.words)], {"search": 0.0})


class FragileLeg(HeadingLeg):
    def search(self, query: str, depth: int) -> LegResult:
        if "(" in query:
            raise ValueError("an operator")
        return super().search(query, depth)


class HoardingLeg(HeadingLeg):
    def index(self, corpus: Corpus) -> IndexReport:
        before = getattr(self, "words", [])
        report = super().index(corpus)
        self.words = before + self.words
        return report


class SilentLeg(HeadingLeg):
    def search(self, query: str, depth: int) -> LegResult:
        return replace(super().search(query, depth), milliseconds={})


def share(search):
    """Return `search` with a state that other threads change."""
    state: list[Any] = []

    def shared(asked: Any, *others: Any) -> Any:
        state[:] = [asked]
        threading.Event().wait(0.001)
        return search(state[0], *others)

    return shared


class SharedLeg(HeadingLeg):
    def __init__(self) -> None:
        self.search = share(super().search)  # type: ignore[method-assign]


class ByLength(Minimum):
    """Scores hits by the length of the query, so that answers of threads can be told apart."""

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        return StageResult([replace(hit, score=hit.score * len(query)) for hit in hits])


class WorstFirst(Minimum):
    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        return StageResult(list(hits)[::-1])


class Inventive(Minimum):
    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        return super().apply(query, hits or self.known)

    def index(self, corpus: Corpus, top: float) -> None:
        self.known = [Hit(corpus.chunks[0], 1.0)]


class Emptying(Minimum):
    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        assert isinstance(hits, list)
        given = list(hits)
        hits.clear()
        return StageResult(given)


class Shouting(Minimum):
    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        loud = [replace(hit.chunk, text=hit.chunk.text.upper()) for hit in hits]
        return StageResult(
            [replace(hit, chunk=chunk) for hit, chunk in zip(hits, loud, strict=True)]
        )


class Alternating(Minimum):
    count = 0

    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        self.count += 1
        return StageResult(list(hits)[self.count % 2 :])


class Alphabetical(Minimum):
    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        named = sorted(hits, key=lambda hit: hit.chunk.id, reverse=True)
        return StageResult(descend((hit, hit.score) for hit in named))


class FragileStage(Minimum):
    def apply(self, query: str, hits: Sequence[Hit]) -> StageResult:
        query.split()[0]
        return super().apply(query, hits)


class SharedStage(ByLength):
    def __init__(self, words: int) -> None:
        super().__init__(words)
        self.apply = share(super().apply)  # type: ignore[method-assign]


class Naming(Abbreviations):
    def apply(self, request: LegQuery) -> StepResult:
        return StepResult(replace(request, factors={"no such leg": 1.0}))


class Lifting(Abbreviations):
    def apply(self, request: LegQuery) -> StepResult:
        return StepResult(replace(request, allowed=None))


class Counting(Abbreviations):
    count = 0

    def apply(self, request: LegQuery) -> StepResult:
        self.count += 1
        return StepResult(replace(request, text=str(self.count)))


class FragileStep(Abbreviations):
    def apply(self, request: LegQuery) -> StepResult:
        request.text.split()[0]
        return StepResult(request)


class SharedStep(Abbreviations):
    def __init__(self, words: dict[str, str]) -> None:
        super().__init__(words)
        self.apply = share(super().apply)  # type: ignore[method-assign]


class Long(Hashing):
    def encode_query(self, text: str) -> Vectors:
        return super().encode_query(text) * 2


class Centred(Hashing):
    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        rows = super().encode_passages(texts)
        rows = rows - rows.mean(axis=0) / 2
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


class Nameless(Hashing):
    identity = ""


class Blind(Hashing):
    def encode_query(self, text: str) -> Vectors:
        return super().encode_query("")


class Miscounting(Overlap):
    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return [*super().score(query, texts), 0.0]


class Comparing(Overlap):
    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        scores = super().score(query, texts)
        return [score - min(scores) for score in scores]


class NamelessModel(Overlap):
    identity = ""


BROKEN_LEGS: dict[str, Callable[[], Leg]] = {
    "at_most_depth": TwiceLeg,
    "best_first": WorstFirstLeg,
    "same_answer_again": DriftingLeg,
    "odd_queries_are_answered": FragileLeg,
    "indexing_replaces": HoardingLeg,
    "restricted_legs_find_the_rest_in_order": LeakingLeg,
    "times_are_told": SilentLeg,
    "threads_are_safe": SharedLeg,
}
BROKEN_STAGES: dict[str, Callable[[int], Stage]] = {
    "best_first": WorstFirst,
    "nothing_from_nothing": Inventive,
    "given_hits_stay": Emptying,
    "pinned_stay_first": Alphabetical,
    "chunks_are_true": Shouting,
    "same_answer_again": Alternating,
    "odd_queries_are_answered": FragileStage,
    "threads_are_safe": SharedStage,
}
BROKEN_STEPS: dict[str, Callable[[dict[str, str]], QueryStep]] = {
    "legs_are_those_given": Naming,
    "limits_stand": Lifting,
    "same_answer_again": Counting,
    "odd_queries_are_answered": FragileStep,
    "threads_are_safe": SharedStep,
}
BROKEN_ENCODERS = {
    "vectors_are_of_unit_length": Long,
    "texts_are_encoded_apart": Centred,
    "encoders_are_alike": Nameless,
    "texts_are_told_apart": Blind,
}
BROKEN_CROSS_ENCODERS = {
    "each_text_has_a_score": Miscounting,
    "pairs_are_scored_apart": Comparing,
    "cross_encoders_are_alike": NamelessModel,
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
