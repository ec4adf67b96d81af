"""Engines that pass over texts as they search: what they find is what plain Python finds."""

import os
from datetime import UTC, datetime, timedelta
from random import Random

import numpy as np
import pytest

from assay.retrievers.base import Quiet
from assay.retrievers.engines.registry import ENGINES
from assay.retrievers.settings import Resources
from assay.retrievers.settings.filters import read_filter
from assay.retrievers.store.cache import Cache

ROWS = 300
WORDS = ("valve", "pipe", "meter", "pump", "flange")
RESTRICTING = {
    "chroma": {},
    "lancedb": {},
    "lancedb hnsw": {"index": {"type": "hnsw-flat", "partitions": 1}},
    "elasticsearch": {"bm25": {"analyzer": "standard"}},
    "opensearch": {},
    "opensearch hnsw": {"knn": {"method": "hnsw"}},
    "postgres": {},
    "sqlite": {},
    "qdrant-edge": {},
    "faiss": {},
    "faiss hnsw": {"index": {"type": "hnsw"}},
    "faiss hnsw-sq": {"index": {"type": "hnsw-sq"}},
    "milvus": {},
    "neo4j": {},
    "qdrant": {},
    "qdrant hnsw": {"exact": False},
    "sql-server": {},
    "weaviate": {},
    "weaviate hnsw": {"exact": False},
}


def test_those_that_say_so_are_tested():
    restricting = {name for name, kind in ENGINES.types.items() if kind.capabilities.restricts}
    assert restricting == {name.split()[0] for name in RESTRICTING}


@pytest.fixture(scope="module", params=RESTRICTING)
def engine(request, tmp_path_factory):
    name = request.param.split()[0]
    settings = ENGINES.types[name].model_validate({"type": name, **RESTRICTING[request.param]})
    capabilities = settings.capabilities
    if name == "milvus" and not os.environ.get(capabilities.address):
        request.getfixturevalue("milvus_url")
    if name == "sql-server":
        request.getfixturevalue("sql_server_url")
    if capabilities.address and not (capabilities.embedded or os.environ.get(capabilities.address)):
        pytest.skip(f"needs {capabilities.address}")
    resources = Resources(Cache(tmp_path_factory.mktemp("cache")), Quiet())
    made = settings.build(resources)
    chance = np.random.default_rng(3)
    vectors = chance.normal(size=(ROWS, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = [" ".join(chance.choice(WORDS, size=chance.integers(1, 6))) for _ in range(ROWS)]
    made.index(texts, vectors, "v")
    yield made, vectors
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 3, 30, 270])
def test_a_restricted_engine_finds_the_best_of_the_texts_that_it_may(engine, size):
    whole, vectors = engine
    for seed in range(5):
        chance = np.random.default_rng(seed)
        allowed = np.sort(chance.choice(ROWS, size=size, replace=False))
        held = set(allowed.tolist())
        restricted = whole.restrict(allowed)
        assert restricted is not None
        query = vectors[chance.integers(ROWS)]
        if "dense" in whole.searches:
            found = restricted.dense(query, 10)
            cosines = vectors[allowed] @ query
            wanted = allowed[np.argsort(-cosines, kind="stable")][:10].tolist()
            assert {i for i, _ in found} <= held
            if whole.metadata()["exact"]:
                assert [i for i, _ in found] == wanted
            else:
                assert len(set(wanted) & {i for i, _ in found}) >= 0.7 * len(wanted)
        if "keyword" in whole.searches:
            text = " ".join(chance.choice(WORDS, size=2))
            everything = [pair for pair in whole.keyword(text, ROWS) if pair[0] in held]
            found = restricted.keyword(text, 10)
            assert [i for i, _ in found] == [i for i, _ in everything[:10]]
            assert [s for _, s in found] == pytest.approx([s for _, s in everything[:10]])
        # The build of Elasticsearch that can be had here has no fusion.
        if "hybrid" in whole.searches and whole.metadata()["engine"] != "elasticsearch":
            listed = restricted.hybrid(text, query, 10)
            assert {i for i, _ in listed} <= held
            assert len(listed) == min(10, size)


def test_a_restricted_engine_finds_nothing_where_nothing_may_be_found(engine):
    whole, vectors = engine
    restricted = whole.restrict(np.array([], np.intp))
    assert restricted is not None
    if "dense" in whole.searches:
        assert restricted.dense(vectors[0], 5) == []
    if "keyword" in whole.searches:
        assert restricted.keyword("valve pipe", 5) == []


def test_a_restricted_engine_lists_no_more_texts_than_its_store_takes(engine, monkeypatch):
    whole, _ = engine
    monkeypatch.setattr(type(whole), "_most_listed", 10)
    sizes = (10, 11, ROWS - 11, ROWS - 10)
    told = [whole.restrict(np.arange(size)) is not None for size in sizes]
    assert told == [True, False, False, True]


FIELDS = {
    "size": "number",
    "kind": "text",
    "tags": "list of text",
    "done": "boolean",
    "on": "date",
}


def draw_value(field, chance):
    moment = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=chance.randrange(96))
    return {
        "size": chance.choice([0, 1, 2, 2.5]),
        "kind": chance.choice(["Pump", "pump", "valve"]),
        "tags": chance.choice("abc"),
        "done": chance.random() < 0.5,
        "on": moment.isoformat(),
    }[field]


def draw_document(chance):
    document = {field: draw_value(field, chance) for field in FIELDS if chance.random() < 0.7}
    document["tags"] = [draw_value("tags", chance) for _ in range(chance.randrange(3))]
    return document


def draw_filter(chance, deeper=2):
    kind = chance.choice(["and", "or", "not", "test", "test"]) if deeper else "test"
    if kind == "not":
        return {"not": draw_filter(chance, deeper - 1)}
    if kind != "test":
        return {kind: [draw_filter(chance, deeper - 1) for _ in range(chance.randint(1, 3))]}
    field = chance.choice(list(FIELDS))
    value, others = draw_value(field, chance), [draw_value(field, chance) for _ in range(2)]
    tests = [{"equals": value}, {"in": others}, {"contains": others}]
    tests.append({"exists": chance.random() < 0.5})
    if field != "done":
        tests.append({"range": {chance.choice(["ge", "gt", "le", "lt"]): value}})
    return {"field": field, **chance.choice(tests)}


def allows(asked, document):
    """What a filter means, said once more in plain Python, without a look at the other."""
    if "and" in asked:
        return all(allows(part, document) for part in asked["and"])
    if "or" in asked:
        return any(allows(part, document) for part in asked["or"])
    if "not" in asked:
        return not allows(asked["not"], document)
    field = asked["field"]
    read = datetime.fromisoformat if field == "on" else lambda value: value
    held = document.get(field)
    values = [
        read(value) for value in (held if isinstance(held, list) else [held]) if value is not None
    ]
    if "exists" in asked:
        return bool(values) == asked["exists"]
    if "equals" in asked:
        return read(asked["equals"]) in values
    if "in" in asked:
        return bool({read(value) for value in asked["in"]} & set(values))
    if "contains" in asked:
        return {read(value) for value in asked["contains"]} <= set(values)
    ((bound, limit),) = asked["range"].items()
    limit = read(limit)
    compare = {
        "ge": lambda value: value >= limit,
        "gt": lambda value: value > limit,
        "le": lambda value: value <= limit,
        "lt": lambda value: value < limit,
    }[bound]
    return any(compare(value) for value in values)


@pytest.mark.parametrize("filters", [100, pytest.param(500, marks=pytest.mark.long)])
def test_an_engine_finds_what_plain_python_finds_by_many_filters(engine, filters):
    whole, vectors = engine
    chance = Random(38)
    documents = [draw_document(chance) for _ in range(ROWS)]
    shares = set()
    for _ in range(filters):
        asked = draw_filter(chance)
        wanted = [i for i, document in enumerate(documents) if allows(asked, document)]
        bound = read_filter(asked, "filter", FIELDS)
        allowed = np.array([i for i in range(ROWS) if bound.matches(documents[i])], np.intp)
        assert allowed.tolist() == wanted, asked
        shares.add(len(wanted) * 10 // ROWS)
        restricted = whole.restrict(allowed)
        assert restricted is not None
        if "dense" not in whole.searches:
            found = restricted.keyword("valve pipe", 10)
            listed = [pair for pair in whole.keyword("valve pipe", ROWS) if pair[0] in wanted]
            assert [i for i, _ in found] == [i for i, _ in listed[:10]], asked
            continue
        query = vectors[chance.randrange(ROWS)]
        found = restricted.dense(query, 10)
        assert {i for i, _ in found} <= set(wanted), asked
        if whole.metadata()["exact"]:
            near = sorted(wanted, key=lambda i: (-float(vectors[i] @ query), i))
            assert [i for i, _ in found] == near[:10], asked
    assert len(shares) > 8, "filters of every selectivity"
