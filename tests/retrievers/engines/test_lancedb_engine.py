"""LanceDB: its fusion and its terms; when its folder in the cache is found, made anew, shared."""

import math
from contextlib import closing
from importlib.util import find_spec
from typing import get_args

import numpy as np
import pytest
from samples.real_texts import real_texts

from assay.retrievers.engines.conformance.sample import encode
from assay.retrievers.engines.stores.lancedb import LanceDbSettings, Language
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

pytestmark = pytest.mark.skipif(not find_spec("lancedb"), reason="needs the extra `lancedb`")

QUERIES = ["add an argument to the parser", "print usage", "Namespace", "optional prefix chars"]
TEXTS = real_texts()


def make(folder, **settings):
    chosen = LanceDbSettings.model_validate({"type": "lancedb", **settings})
    return chosen.build(Resources(Cache(folder)))


def embed(texts):
    return np.stack([encode(text) for text in texts])


def index(engine, texts):
    return engine.index(texts, embed(texts), "hashing")


VECTORS = embed(TEXTS)


@pytest.mark.parametrize("fusion", ["rrf", "linear"])
def test_the_client_s_own_hybrid_query_is_the_same(cache, fusion):
    with closing(make(cache, fusion=fusion)) as engine:
        engine.index(TEXTS, VECTORS, "hashing")
        for query in QUERIES:
            search = engine._opened.table.search(query_type="hybrid", vector_column_name="vector")
            search = search.vector(encode(query)).text(query).distance_type("dot").limit(100)
            found = search.rerank(engine._reranker()).to_arrow()
            ours = engine.hybrid(query, encode(query), 100)
            assert [score for _, score in ours] == found["_relevance_score"].to_pylist()


def test_keyword_scores_are_bm25_with_the_constants_told(tmp_path):
    texts = ["cat dog", "cat cat cat bird tree", "fish", "dog " * 3 + "something " * 30]
    lengths = [len(text.split()) for text in texts]
    with closing(make(tmp_path)) as engine:
        index(engine, texts)
        k1, b = engine.metadata()["k1"], engine.metadata()["b"]
        idf = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
        expected = {}
        for position, count in ((0, 1), (1, 3)):
            norm = k1 * (1 - b + b * lengths[position] / (sum(lengths) / 4))
            expected[position] = idf * count * (k1 + 1) / (count + norm)
        assert dict(engine.keyword("Cats", 10)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({}, {"runs", "json", "parse_json", "café", "cafe"}),
        ({"stem": False}, {"json", "parse_json", "café", "cafe"}),
        ({"stop_words": False}, {"runs", "json", "parse_json", "café", "cafe", "the"}),
        ({"ascii_folding": False}, {"runs", "json", "parse_json", "café"}),
        ({"max_token_length": 6}, {"json", "parse_json", "café", "cafe"}),
        ({"tokenizer": "whitespace"}, {"runs", "parse_json"}),
        ({"tokenizer": "icu"}, {"runs", "parse_json", "café", "cafe"}),
        ({"tokenizer": "icu/split"}, {"runs", "json", "parse_json", "café", "cafe"}),
    ],
)
def test_texts_are_cut_into_terms_as_the_settings_say(tmp_path, settings, found):
    with closing(make(tmp_path, fts=settings)) as engine:
        index(engine, ["Running in the café, parse_json too"])
        asked = {"runs", "parse_json", "café", "cafe", "json", "the"}
        assert {word for word in asked if engine.keyword(word, 1)} == found


@pytest.mark.parametrize("language", get_args(Language))
def test_every_language_is_known_to_the_engine(tmp_path, language):
    with closing(make(tmp_path, fts={"language": language})) as engine:
        index(engine, ["2024"])
        assert engine.keyword("2024", 1)


def test_recall_is_measured_where_search_is_approximate(cache):
    def recall(**settings):
        with closing(make(cache, index=settings)) as engine:
            engine.index(TEXTS, VECTORS, "hashing")
            assert engine.metadata()["exact"] is False
            return float(engine.metadata()["recall_against_exact"])

    few = recall(type="ivf-flat", partitions=8, nprobes=1)
    assert 0 < few < recall(type="ivf-flat", partitions=8, nprobes=4) < 1
    assert recall(type="ivf-flat", partitions=8, nprobes=8) == 1
    estimated = recall(type="ivf-pq", sub_vectors=2)
    assert 0 < estimated < recall(type="ivf-pq", sub_vectors=2, refine_factor=3) <= 1
    with closing(make(cache)) as exact:
        exact.index(TEXTS, VECTORS, "hashing")
        assert "recall_against_exact" not in exact.metadata()


def test_searching_prints_nothing(tmp_path, capfd):
    with closing(make(tmp_path)) as engine:
        index(engine, TEXTS)
        capfd.readouterr()
        assert engine.hybrid(QUERIES[0], encode(QUERIES[0]), 100)
    assert capfd.readouterr() == ("", "")
