"""Legs in stores of their own: every pair is fused here, and one of two may be down."""

from contextlib import closing

import pytest
from pydantic import ValidationError
from tools.leg_stores import DOCUMENTS, build_pair, check_pair

from assay.eval.configs.config import load_config
from assay.retrievers.base import AssayError
from assay.retrievers.pipeline.config import PipelineConfig

DENSE = ("qdrant-edge", "sqlite", "lancedb", "postgres", "faiss", "chroma")
KEYWORD = ("sqlite", "lancedb", "postgres", "qdrant-edge")
PAIRS = [
    # Every store once at either side; what else a pair could do is the same for all.
    pytest.param(dense, keyword, marks=[pytest.mark.long] * (i % 4 != j))
    for i, dense in enumerate(DENSE)
    for j, keyword in enumerate(KEYWORD)
]


@pytest.mark.parametrize(("dense", "keyword"), PAIRS)
def test_any_two_stores_are_fused_here(dense, keyword, model_workshop):
    check_pair(model_workshop, dense, keyword)


def test_a_store_of_words_that_is_down_is_done_without(model_workshop, monkeypatch):
    pytest.importorskip("neo4j", reason="needs the extra `neo4j`")
    monkeypatch.setenv("NEO4J_URL", "bolt://127.0.0.1:1")
    down = {"type": "neo4j", "retries": {"attempts": 1}}
    with closing(build_pair(model_workshop, "qdrant-edge", down)) as pipeline:
        pipeline.index(DOCUMENTS)
        ranking = pipeline.search("which pets are kept", 2)
        assert {hit.chunk.doc_id for hit in ranking.hits} == {"pets", "dogs"}
        (said,) = ranking.degraded
        assert said.startswith("the keyword leg keyword cannot be built: neo4j at bolt://127.0.0.1")
        assert said.endswith("; searched without it")
    with (
        closing(build_pair(model_workshop, down, "qdrant-edge")) as pipeline,
        pytest.raises(AssayError, match=r"^neo4j at bolt://127\.0\.0\.1:1: cannot be reached"),
    ):
        pipeline.index(DOCUMENTS)


def test_one_setting_moves_a_leg_of_a_config():
    moved = load_config(
        "hybrid_rrf",
        [
            "retriever.legs.dense.engine=postgres",
            "retriever.legs.dense.windows=mean",
            "retriever.legs.keyword.engine={type: opensearch, bm25: {k1: 0.9}}",
            "retriever.legs.keyword.analyzer=german",
        ],
    ).model_dump()["retriever"]["legs"]
    assert (moved["dense"]["type"], moved["dense"]["windows"]) == ("engine_dense", "mean")
    assert moved["dense"]["encoder"]["model"] == "bge-small-en-v1.5"
    assert moved["dense"]["engine"]["type"] == "postgres"
    assert moved["keyword"]["type"] == "engine_keyword"
    bm25 = moved["keyword"]["engine"]["bm25"]
    assert (bm25["analyzer"], bm25["k1"]) == ("german", 0.9)


@pytest.mark.parametrize(
    ("leg", "problem"),
    [
        ({"engine": "faiss"}, "keyword: faiss has no keyword search, only dense"),
        (
            {"engine": "sqlite", "analyzer": "german"},
            "keyword: not allowed in the engine sqlite: a",
        ),
        (
            {"type": "bm25", "engine": "neo4j", "k1": 2},
            "not allowed in the engine neo4j: k1; allow",
        ),
        ({"engine": "neo4j", "analyzer": "klingon"}, "Input should be 'standard', 'simple'"),
        ({"engine": "neo5j"}, "neo5j"),
        ({"engine": 7}, "Unable to extract tag"),
    ],
    ids=str,
)
def test_what_a_leg_in_a_store_may_not_say(leg, problem):
    legs = {"dense": {"engine": "qdrant-edge"}, "keyword": leg}
    with pytest.raises(ValidationError) as caught:
        PipelineConfig.model_validate(
            {"name": "pair", "retriever": {"legs": legs, "fusion": {"type": "rrf"}}}
        )
    assert problem in str(caught.value)


def test_what_a_native_engine_lacks_is_told():
    with pytest.raises(ValidationError, match="neo4j has no hybrid search of its own"):
        PipelineConfig.model_validate(
            {"name": "one", "retriever": {"legs": {"hybrid": {"engine": "neo4j"}}}}
        )
