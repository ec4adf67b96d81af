"""Pipelines of two legs, each in a store of its own."""

from contextlib import closing

import pytest

from assay.retrievers.base import Document
from assay.retrievers.base.installation import hint_extra
from assay.retrievers.engines.registry import ENGINES
from assay.retrievers.fusion.fusion import RrfSettings
from assay.retrievers.legs.native import EngineDenseSettings, EngineKeywordSettings
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.pipeline.pipeline import Pipeline

DOCUMENTS = [
    Document("pets", "Cats are kept as pets."),
    Document("bank", "The central bank raised its interest rate."),
    Document("pip", "Run pip to install the package."),
    Document("dogs", "Dogs are kept as pets, too."),
]
QUERIES = ("which pets are kept", "interest", "install the central package")


def build_pair(resources, dense, keyword):
    legs = {"dense": {"engine": dense}, "keyword": {"engine": keyword}}
    config = {"name": "pair", "retriever": {"legs": legs, "fusion": {"type": "rrf"}}}
    pipeline = PipelineConfig.model_validate(config).build(resources)
    assert isinstance(pipeline, Pipeline)
    return pipeline


def skip_missing(*engines):
    for engine in engines:
        can = ENGINES.types[engine].capabilities
        if not can.installed:
            pytest.skip(hint_extra(can.extra))


def check_pair(resources, dense, keyword):
    """Hold that each list is what its store gives alone, and the ranking the fusion of both."""
    skip_missing(dense, keyword)
    with closing(build_pair(resources, dense, keyword)) as pipeline:
        pipeline.index(DOCUMENTS)
        corpus = pipeline._corpus
        alone = [
            EngineDenseSettings.model_validate({"type": "engine_dense", "engine": dense}),
            EngineKeywordSettings.model_validate({"type": "engine_keyword", "engine": keyword}),
        ]
        with (
            closing(alone[0].build(resources)) as left,
            closing(alone[1].build(resources)) as right,
        ):
            left.index(corpus)
            right.index(corpus)
            for query in QUERIES:
                lists = {
                    "dense": left.search(query, 100).candidates,
                    "keyword": right.search(query, 100).candidates,
                }
                assert lists["dense"]
                assert lists["keyword"]
                wanted = [
                    (corpus.chunks[i].id, score) for i, score in RrfSettings(k=60).fuse(lists)
                ]
                ranking = pipeline.search(query, 100)
                assert [(hit.chunk.id, hit.score) for hit in ranking.hits] == wanted
