"""Which pipelines ask a server in searches."""

import pytest

from assay.retrievers.pipeline.shape import PipelineShape

SERVED = {"type": "openai", "model": "text-embedding-3-small"}
KEYWORD = {"a": {"type": "bm25"}}
BOTH = {**KEYWORD, "b": {"type": "dense", "encoder": SERVED}}
FUSED = {"legs": BOTH, "fusion": {"type": "rrf"}}
STORE = {"type": "native_hybrid", "engine": {"type": "qdrant"}}
WORDS = {"type": "engine_keyword", "engine": {"type": "opensearch", "knn": {"method": "none"}}}
API = {"type": "openai", "model": "gpt-5-nano"}
RERANKER = {"type": "cohere", "model": "rerank-v4.0"}


@pytest.mark.parametrize(
    ("retriever", "asks"),
    [
        ({"legs": KEYWORD}, False),
        (FUSED, True),
        ({"mode": "keyword", **FUSED}, False),
        ({"legs": {"a": {"type": "native_hybrid"}}}, False),
        ({"legs": {"a": STORE}}, True),
        ({"legs": {"a": STORE | {"encoder": SERVED}}}, True),
        ({"legs": {"a": WORDS}}, True),
        ({"legs": KEYWORD, "query": [{"type": "multi_query", "model": API}]}, True),
        ({"legs": KEYWORD, "stages": [{"type": "rerank", "model": RERANKER}]}, True),
        ({"legs": KEYWORD, "stages": [{"type": "rerank"}]}, False),
    ],
)
def test_a_pipeline_asks_a_server_where_one_of_its_parts_does(retriever, asks):
    assert PipelineShape.model_validate(retriever).uses_server() == asks
