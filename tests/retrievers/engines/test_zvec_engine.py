import math
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from tools import folder_engines
from tools.extras import skip_without
from tools.folder_engines import QUERIES, TEXTS, VECTORS, index

from assay.retrievers.engines.conformance.sample import encode
from assay.retrievers.engines.zvec.engine import ZvecEngine, ZvecSettings, _make_analyzer
from assay.retrievers.engines.zvec.settings import Language, ZvecAnalyzerSettings

skip_without("zvec", "zvec")


def make(folder: Path, **settings: Any) -> ZvecEngine:
    engine = folder_engines.make("zvec", folder, **settings)
    assert isinstance(engine, ZvecEngine)
    return engine


@pytest.fixture
def engine(cache: Path) -> Iterator[ZvecEngine]:
    with closing(make(cache)) as engine:
        engine.index(TEXTS, VECTORS, "hashing")
        yield engine


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"k": 1, "depth": {"dense": 20, "keyword": 50}},
        {"fusion": "weighted"},
        {"fusion": "weighted", "metric": "ip", "weights": {"dense": 3.0, "keyword": 0.5}},
        {"fusion": "weighted", "weights": {"dense": 0.0}, "depth": {"dense": 50, "keyword": 7}},
    ],
)
def test_fusion_is_what_the_formula_says(cache: Path, settings: dict[str, Any]) -> None:
    with closing(make(cache, **settings)) as engine:
        engine.index(TEXTS, VECTORS, "hashing")
        for query in QUERIES:
            lists = engine.lists(query, encode(query))
            assert len(lists.dense) == engine.depth.dense
            assert 0 < len(lists.keyword) <= engine.depth.keyword
            expected = engine.formula.fuse(*lists)
            assert engine.hybrid(query, encode(query), 1000) == expected
            assert engine.hybrid(query, encode(query), 7) == expected[:7]


def test_the_client_s_own_hybrid_query_is_the_same(engine: ZvecEngine) -> None:
    import zvec

    for query in QUERIES:
        found = engine._opened.collection.query(
            [
                zvec.Query("dense", vector=encode(query)),
                zvec.Query("text", fts=zvec.Fts(match_string=query)),
            ],
            topk=100,
            reranker=zvec.RrfReRanker(60),
        )
        ours = engine.hybrid(query, encode(query), 100)
        assert [score for _, score in ours] == [document.score for document in found]


def test_keyword_scores_are_bm25_with_the_constants_told(tmp_path: Path) -> None:
    texts = ["cat dog", "cat cat cat bird tree", "fish", "dog " * 3 + "nothing " * 30]
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
        ({}, {"runs", "parse_json", "café"}),
        ({"language": None}, {"parse_json", "café"}),
        ({"ascii_folding": True}, {"runs", "parse_json", "café", "cafe"}),
        ({"tokenizer": "whitespace"}, {"runs"}),
    ],
)
def test_texts_are_cut_into_terms_as_the_settings_say(
    tmp_path: Path, settings: dict[str, Any], found: set[str]
) -> None:
    with closing(make(tmp_path, analyzer=settings)) as engine:
        index(engine, ["Running in a café; parse_json, too"])
        asked = {"runs", "parse_json", "café", "cafe", "json"}
        assert {word for word in asked if engine.keyword(word, 1)} == found


def test_languages_are_known_to_the_engine(tmp_path: Path) -> None:
    import zvec

    languages: list[Language] = ["arabic", "esperanto", "porter", "yiddish"]  # one takes 0.3 s
    fields = [
        zvec.FieldSchema(
            language,
            zvec.DataType.STRING,
            index_param=_make_analyzer(ZvecAnalyzerSettings(language=language)),
        )
        for language in languages
    ]
    vector = zvec.VectorSchema("dense", zvec.DataType.VECTOR_FP32, 4, zvec.FlatIndexParam())
    schema = zvec.CollectionSchema("texts", fields=fields, vectors=vector)
    zvec.create_and_open(str(tmp_path / "collection"), schema).close()


def test_recall_is_measured_where_search_is_approximate(tmp_path: Path) -> None:
    # Of a few hundred texts the engine compares all.
    vectors = np.random.default_rng(0).normal(size=(1500, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    facts = []
    for settings in ({"exact": False, "m": 2, "ef_construction": 2, "ef": 1}, {"exact": True}):
        with closing(make(tmp_path, **settings)) as engine:
            engine.index(["text"] * len(vectors), vectors, "random")
            facts.append(engine.metadata())
    assert 0 < facts[0]["recall_against_exact"] < 1
    assert facts[0]["exact"] is False
    assert "recall_against_exact" not in facts[1]


def test_more_texts_than_the_engine_takes_at_once(tmp_path: Path) -> None:
    texts = [f"text number {i}" for i in range(2100)]
    with closing(make(tmp_path)) as engine:
        index(engine, texts)
        assert len(engine.keyword("text", 3000)) == 2100
        assert [i for i, _ in engine.keyword("2099", 5)] == [2099]
        assert len(engine.dense(encode("text"), 3000)) == 2100


def test_refuses_weights_that_the_engine_has_not() -> None:
    with pytest.raises(ValidationError, match="rrf has no weights in Zvec"):
        ZvecSettings.model_validate({"type": "zvec", "weights": {"dense": 2.0}})
