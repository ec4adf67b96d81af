"""A small output of each component of which something is stored, and the revision it is stored by.

Figures are told apart to about the third digit.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from samples.planned_runs import make_run
from tools.part_settings import read_settings

from assay.eval.collections.formats import memo
from assay.eval.collections.loading import load as load_collection
from assay.eval.configs.config import RunConfig, load_config
from assay.eval.running import cached_summaries, run_memo
from assay.eval.running.figures import Figures
from assay.eval.runs.summary.summary import summarise
from assay.retrievers.base import Document
from assay.retrievers.corpus import glossary
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents import chunk_cache, language, preparation
from assay.retrievers.documents.chunkers import AnyChunker
from assay.retrievers.documents.conformance import DOCUMENTS
from assay.retrievers.documents.conversion import converter
from assay.retrievers.engines.conformance.sample import QUERIES, index, search
from assay.retrievers.engines.registry import EngineSettings
from assay.retrievers.engines.servers.engine import StoreEngine
from assay.retrievers.engines.stores.chroma import ChromaEngine
from assay.retrievers.engines.stores.faiss import FaissEngine
from assay.retrievers.engines.stores.lancedb import LanceDbEngine
from assay.retrievers.engines.stores.qdrant_edge import QdrantEdgeEngine
from assay.retrievers.engines.stores.sqlite import SqliteEngine
from assay.retrievers.legs import code, graph, keyword, late_interaction
from assay.retrievers.legs.registry import LEGS
from assay.retrievers.models.tokens import DEFAULT_TOKENIZER, Tokenizer
from assay.retrievers.pipeline import ingestion, pipeline
from assay.retrievers.settings import Resources
from assay.retrievers.stages import context
from assay.retrievers.text import term_counts
from assay.retrievers.text.analyzers import AnalyzerSettings

GUIDE = """\
---
title: Berths
---
# Berths

A *berth* means a place at the quay. “Dues” means what is paid for one; see [fees](fees.md#2).

| berth | depth |
|---|---|
| 1 | 4.2 m |

## 2. Names

Call `parse_json` or `harbour.find_berth()` in Zürich, in 渡轮 or on the ferries' quays.

```python
def find_berth(depth: float) -> Berth:
    return min(berths)
```
"""
FEES = "# Fees\n\n## § 2. Dues\n\n(a) Under [berths](guide.md), dues are paid by noon.\n\n(b) No.\n"
PAGE = (
    "<html><head><title>Dues</title></head><body><nav>Home</nav><h1>Dues</h1><p>Pay <b>by noon</b>."
    "</p><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>"
)
SAMPLE = (Document("guide.md", GUIDE), Document("fees.md", FEES), *DOCUMENTS)


class Component(NamedTuple):
    """Where its `REVISION` stands, and what makes its output with an empty cache."""

    revision: int
    make: Callable[[Resources], Any]


def cut(resources, documents=SAMPLE[:12]):
    """Return where each chunker cuts each document."""
    chunkers = [
        {"type": "structure", "max_tokens": 40, "overlap_tokens": 8},
        {"type": "sections", "max_tokens": 30},
        {"type": "fixed", "max_tokens": 30, "overlap_tokens": 6},
        {"type": "combine_split", "target_min": 40, "target_max": 80, "overlap_tokens": 9,
         "max_tokens": 120, "micro_tokens": 10},
        {"type": "parent_child", "parent_tokens": 60, "max_tokens": 20, "overlap_tokens": 5,
         "parent_overlap_tokens": 9},
        {"type": "document"},
    ]  # fmt: skip
    found = {}
    for values in chunkers:
        chunker = read_settings(AnyChunker, values)
        cutting = chunk_cache.ChunkCache(chunker, DEFAULT_TOKENIZER, resources)
        made = cutting.cut(documents, resources.progress)
        found[str(values["type"])] = {
            id_: [
                f"{chunk.id[:6]} {chunk.start} to {chunk.end}: {made.tokens[chunk.id]} tokens"
                for chunk in chunks
            ]
            for id_, chunks in made.chunks.items()
        }
    return found


def prepare(resources):
    """Return all that a chunk says of itself."""
    prepared = preparation.prepare(SAMPLE[:3], load_config("bm25").documents, resources)
    return [asdict(chunk) for chunk in prepared.chunks]


def make_corpus(resources):
    return Corpus(
        preparation.prepare(SAMPLE[:9], load_config("bm25").documents, resources).chunks, SAMPLE
    )


def define(resources):
    entries = glossary.Glossary(make_corpus(resources), resources).entries
    return {term: [asdict(entry) for entry in found] for term, found in sorted(entries.items())}


def tell_languages(resources):
    """Return the language of each text."""
    texts = (GUIDE, "Die Gebühren des Hafens betragen zwölf Euro für eine Nacht.", "E17 42")
    return {text: language.find_language(text, resources.cache) for text in texts}


def count_terms(resources):
    """Return the terms of a text by each kind of analyzer, each with how many passages hold it."""
    found = {}
    for name in ("plain", "words", "code", "english", "german", "chinese", "thai"):
        settings = read_settings(AnalyzerSettings, name)
        counted = term_counts.find_counts([GUIDE, FEES], name, settings, resources).counts
        often = counted.frequencies
        found[name] = {term: int(often[i]) for term, i in sorted(counted.vocabulary.items())}
    return found


def rank(values, resources):
    """Return what a leg finds, with its scores."""
    leg = LEGS.types[values["type"]].model_validate(values).build(resources)
    leg.index(make_corpus(resources))
    queries = ("berths and dues", "parse_json find_berth", "渡轮 depth")
    return [
        [[place, round(score, 4)] for place, score in leg.search(query, 5).candidates]
        for query in queries
    ]


def rank_each(variants, resources):
    return [rank(values, resources) for values in variants]


def link(resources):
    return sorted(map(list, graph.find_edges(make_corpus(resources))), key=str)


def describe(resources):
    """Return what ingestion says of documents, times left out."""
    made = ingestion.ingest(SAMPLE[:4], load_config("bm25"), resources)
    return [
        {key: value for key, value in asdict(item).items() if "seconds" not in key}
        for item in made.documents
    ]


def convert(_):
    """Return the text of a file in each light format."""
    files = {".html": PAGE, ".rst": "Dues\n====\n\nPay *by* noon.\n", ".mdx": GUIDE + "\n<A />\n"}
    return {
        suffix: converter._convert(suffix, text.encode())["text"] for suffix, text in files.items()
    }


def count_tokens(resources):
    tokenizer = Tokenizer.default(resources)
    return list(context._count_tokens([GUIDE, FEES], tokenizer, resources).values())


def read_collections(_):
    """Return the questions and gold passages of collections of several formats."""
    found = {}
    for name in ("town_notices", "harbourline"):
        read = load_collection(name)
        found[name] = {
            "digest": read.digest,
            "gold": [asdict(item) for items in list(read.gold.values())[:5] for item in items],
        }
    return found


def search_engine(name, resources):
    """Return what an engine finds in each way it has."""
    with closing(read_settings(EngineSettings, {"type": name}).build(resources)) as engine:
        index(engine)
        return {
            kind: [
                [[place, round(score, 4)] for place, score in search(engine, kind, query, 5)]
                for query in QUERIES[:3]
            ]
            for kind in engine.searches
        }


def score_tokens(resources):
    """Return the scores of a query's vectors in a file of token vectors."""
    random = np.random.default_rng(1)
    folder = resources.cache.root / "vectors"
    folder.mkdir()
    passages = [random.normal(size=(count, 6)).astype(np.float16) for count in (2, 5, 1)]
    late_interaction.write_vectors(folder, iter(passages))
    query = random.normal(size=(3, 6)).astype(np.float32)
    return [float(score) for score in late_interaction.TokenVectors(folder).score(query)]


PIPELINES = {
    "six": load_config("reranked").model_dump(mode="json")["retriever"],
    "rrf": {
        "legs": {"a": {"type": "bm25"}, "b": {"type": "exact"}, "c": {"type": "code"}},
        "fusion": {"type": "rrf"},
        "stages": [{"type": "per_document"}],
    },
    "lists": {
        "legs": {"a": {"type": "bm25"}, "b": {"type": "definitions"}},
        "fusion": {"type": "linear", "normalisation": "z-score"},
        "stages": [{"type": "neighbours", "score_delta": None}],
    },
}


def rank_pipelines(resources):
    """Return the chunks that pipelines of many parts find, with their scores."""
    found = {}
    for name, values in PIPELINES.items():
        config = RunConfig.model_validate({"name": name, "retriever": values})
        with config.build(resources) as retriever:
            retriever.index(SAMPLE)
            found[name] = [
                [[hit.chunk.doc_id, hit.chunk.start, round(hit.score, 4)] for hit in ranking.hits]
                for ranking in (retriever.search(query, 5) for query in QUESTIONS)
            ]
    return found


QUESTIONS = ("What is a berth?", "parse_json", "when are dues paid")


def summarise_run(resources):
    """Return what is kept of a stored run: its scores, what became of its gold, its bounds."""
    run = make_run(resources.cache.root, "planned", [1, 2, 0, 3, 1, 0, 7, 1])
    cached = cached_summaries.summarise_cached(run, MEASURES)
    return {
        "scores": {name: dict(found) for name, found in cached.scores.items()},
        "items": {
            query: [item.status for item in found]
            for query, found in cached.attribution.items.items()
        },
        "unjudged": [asdict(bounds) for bounds in cached.unjudged],
        "shallow": cached.shallow,
    }


def show_figures(resources):
    """Return what a parent command keeps of the same run."""
    run = make_run(resources.cache.root, "planned", [1, 2, 0, 3, 1, 0, 7, 1])
    return {name: asdict(mean) for name, mean in Figures.of(summarise(run, MEASURES)).means.items()}


MEASURES = ("nDCG@10", "RR@10", "Hit@3", "Judged@10")
ENGINES = {
    "sqlite": SqliteEngine,
    "lancedb": LanceDbEngine,
    "faiss": FaissEngine,
    "chroma": ChromaEngine,
    "qdrant-edge": QdrantEdgeEngine,
    "postgres": StoreEngine,
}
KEYWORD = (
    {"type": "bm25", "analyzer": "english"},
    {"type": "bm25", "analyzer": "chinese", "scorer": "rank-bm25", "variant": "okapi"},
    {"type": "bm25", "weights": {"title": 2.0}},
)
COMPONENTS = {
    "chunks": Component(chunk_cache.REVISION, cut),
    "prepared_chunks": Component(preparation.REVISION, prepare),
    "definitions": Component(glossary.REVISION, define),
    "languages": Component(language.REVISION, tell_languages),
    "terms": Component(term_counts.REVISION, count_terms),
    "keyword": Component(keyword.REVISION, partial(rank_each, KEYWORD)),
    "code": Component(code.REVISION, partial(rank, {"type": "code"})),
    "graph": Component(graph.REVISION, link),
    "token_vectors": Component(late_interaction.REVISION, score_tokens),
    "token_counts": Component(context.REVISION, count_tokens),
    "ingestion": Component(ingestion.REVISION, describe),
    "conversion": Component(converter.REVISION, convert),
    "pipeline": Component(pipeline.REVISION, rank_pipelines),
    "collections": Component(memo.REVISION, read_collections),
    "summaries": Component(run_memo.REVISION, summarise_run),
    "figures": Component(run_memo.REVISION, show_figures),
    **{
        f"engine_{name}": Component(engine.revision, partial(search_engine, name))
        for name, engine in ENGINES.items()
    },
}
