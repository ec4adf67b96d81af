"""Every engine keeps every rule."""

import re
from contextlib import closing

import pytest
from pydantic import ValidationError
from tools.part_settings import read_settings

from assay.retrievers.engines.conformance import RULES
from assay.retrievers.engines.conformance.sample import QUERIES, encode, index
from assay.retrievers.engines.registry import ENGINES as STORES
from assay.retrievers.engines.registry import EngineSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

UNEVEN = {"dense": 20, "keyword": 50}
ENGINES = {
    "qdrant-edge": {},
    "qdrant-edge dbsf": {"fusion": "dbsf"},
    "qdrant-edge hnsw": {"exact": False},
    "qdrant-edge weighted": {"weights": {"dense": 3.0, "keyword": 0.5}, "depth": UNEVEN},
    "postgres": {},
    "postgres min-max": {
        "fusion": "min-max",
        "weights": {"dense": 0.7, "keyword": 0.3},
        "text": {"rank": "ts_rank_cd", "normalisation": 0},
    },
    "postgres hnsw": {"index": {"type": "hnsw"}},
    "postgres ivfflat": {"index": {"type": "ivfflat", "lists": 5, "probes": 2}},
    "postgres weighted": {"k": 1, "weights": {"dense": 3.0, "keyword": 0.0}, "depth": UNEVEN},
    "sqlite": {},
    "sqlite min-max": {"fusion": "min-max", "tokenizer": "trigram"},
    "sqlite weighted": {
        "tokenizer": "unicode61",
        "k": 1,
        "weights": {"dense": 3.0, "keyword": 0.0},
        "depth": UNEVEN,
    },
    "lancedb": {},
    "lancedb linear": {"fusion": "linear", "fill": 0.9, "depth": UNEVEN},
    "lancedb ivf-pq": {"index": {"type": "ivf-pq"}},
    "faiss": {},
    "faiss hnsw": {"index": {"type": "hnsw", "ef": 20}},
    "faiss hnsw-sq": {"index": {"type": "hnsw-sq", "ef": 20}},
    "faiss ivf-pq": {"index": {"type": "ivf-pq", "bits": 4}},
    "faiss ivf-pq refined": {
        "index": {"type": "ivf-pq", "bits": 5, "partitions": 4, "refine_factor": 3},
    },
    "chroma": {},
    "lancedb hnsw-sq": {"index": {"type": "hnsw-sq", "ef": 10}},
}


def choose(name, **changes):
    """Return the settings of an engine, whose type is the first word of its name."""
    values = {"type": name.split()[0], **ENGINES[name], **changes}
    return read_settings(EngineSettings, values)


def make(name, cache):
    settings = choose(name)
    return lambda: settings.build(Resources(Cache(cache)))


# What fuses the lists of the same index in another way, and the rules that this bears on.
FUSED = ("qdrant-edge dbsf", "qdrant-edge weighted", "postgres min-max",
         "postgres weighted", "lancedb linear")  # fmt: skip
OF_FUSION = {
    "nothing_is_found_in_nothing", "hybrid_is_fused_from_its_lists", "smaller_limits_give_heads",
    "same_answer_again", "equal_scores_are_ordered_by_position", "odd_texts_are_data",
    "facts_are_plain",
}  # fmt: skip
# Another index of an engine whose rules are all tried with the first.
INDEXED = {name for name in ENGINES if re.search(" (ivf|hnsw)", name)}
CASES = [
    pytest.param(
        name, rule, id=f"{name}-{rule}",
        marks=[pytest.mark.slow]
        * ((name in FUSED and rule.name not in OF_FUSION) or name in INDEXED),
    )
    for name in ENGINES for rule in RULES
]  # fmt: skip


@pytest.mark.parametrize(("name", "rule"), CASES)
def test_engines_keep_the_rules(name, rule, cache):
    rule.check(make(name, cache))


@pytest.mark.parametrize(
    ("name", "dense", "keyword"),
    [
        ("qdrant-edge", {"weights": {"keyword": 0.0}}, {"weights": {"dense": 0.0}}),
        ("sqlite min-max", {"weights": {"keyword": 0.0}}, {"weights": {"dense": 0.0}}),
        ("lancedb linear", {"weight": 1.0}, {"weight": 0.0}),
    ],
)
def test_a_list_of_weight_0_adds_no_text(name, dense, keyword, cache):
    for side, weighed in enumerate((dense, keyword)):
        with closing(choose(name, **weighed).build(Resources(Cache(cache)))) as engine:
            index(engine)
            for query in QUERIES:
                lists = engine.lists(query, encode(query))
                fused = engine.hybrid(query, encode(query), 300)
                assert {i for i, _ in fused} == {i for i, _ in lists[side]}
                assert {i for i, _ in lists.dense} != {i for i, _ in lists.keyword}


NO_LIST = {"weights": {"dense": 0.0, "keyword": 0.0}}


@pytest.mark.parametrize(
    ("name", "settings", "problem"),
    [
        *((name, NO_LIST, "one of dense and keyword must be above 0")
          for name in ("qdrant-edge", "postgres", "sqlite", "azure-cosmos-nosql", "mongodb")),
        ("azure-ai-search", {"depth": {"keyword": 100}}, "fuses 1000 texts of the keyword list"),
        ("azure-ai-search", {"m": 11}, "less than or equal to 10"),
        ("azure-cosmos-nosql", {"depth": {"dense": 50}}, "make both the same"),
        ("azure-cosmos-nosql", {"depth": {"dense": 2000, "keyword": 2000}}, "1000 texts at most"),
        ("elasticsearch", {"depth": {"dense": 50}}, "make both the same"),
        ("elasticsearch", {"weights": {"dense": 2.0}}, "rrf has no weights here"),
        ("faiss", {"index": {"m": 1}}, "greater than or equal to 2"),
        ("faiss", {"index": {"bits": 9}}, "less than or equal to 8"),
        ("faiss", {"index": {"nprobe": 0}}, "greater than or equal to 1"),
        ("faiss", {"index": {"seed": -1}}, "greater than or equal to 0"),
        ("faiss", {"index": {"type": "ivf"}}, "Input should be"),
        ("milvus", {"weights": {"dense": 0.5}}, "rrf has no weights in Milvus"),
        ("milvus", {"fusion": "weighted", "weights": {"dense": 2.0}}, "Milvus takes 0 to 1"),
        ("milvus", {"depth": {"dense": 16_384}}, "16384 texts at most"),
        ("mongodb", {"depth": {"dense": 20_000}}, "10000 vectors at most"),
        ("opensearch", {"depth": {"dense": 50, "keyword": 100}}, "make both the same"),
        ("opensearch", {"knn": {"method": "hnsw"}, "depth": {"dense": 101}}, "no list deeper"),
        ("opensearch", {"depth": {"dense": 10_001, "keyword": 10_001}}, "10000 candidates"),
        ("opensearch", {"knn": {"ef_search": 50}}, "hnsw of faiss only"),
        ("opensearch", {"fusion": {"type": "rrf", "weights": {"dense": 1.0, "keyword": 1.0}}},
         "sum must be 1"),
        ("opensearch", {"fusion": {"type": "normalisation", "normalisation": "z_score",
                                   "combination": "harmonic_mean"}}, "arithmetic_mean only"),
        ("postgres", {"index": {"type": "hnsw", "m": 40}}, "ef_construction"),
        ("postgres", {"index": {"type": "flat"}}, "does not match any"),
        ("postgres", {"text": {"language": "english'; --"}}, "should match pattern"),
        ("qdrant", {"fusion": "dbsf", "weights": {"dense": 2.0}}, "dbsf has no weights"),
        ("qdrant-edge", {"fusion": "dbsf", "weights": {"dense": 2.0}}, "dbsf has no weights"),
        ("redis", {"depth": {"dense": 50}}, "make both the same"),
        ("redis", {"weights": {"dense": 2.0}}, "rrf has no weights here"),
        ("sql-server", {"exact": False}, "Input should be True"),
        ("weaviate", {"depth": {"dense": 100, "keyword": 120}}, "depth: Weaviate"),
        ("weaviate", {"depth": {"dense": 50, "keyword": 50}}, "depth: Weaviate"),
        ("weaviate", {"depth": {"dense": 20_000}}, "depth: Weaviate"),
    ],
)  # fmt: skip
def test_settings_that_a_store_does_not_allow(name, settings, problem):
    with pytest.raises(ValidationError, match=problem):
        STORES.types[name].model_validate({"type": name, **settings})
