"""Neo4j on a server that runs: every rule of engines, links of chunks, and edits of documents."""

import os
from contextlib import closing
from itertools import pairwise

import numpy as np
import pytest
from tools.leg_stores import check_pair

from assay.eval.collections.loading import load
from assay.eval.configs.config import load_config
from assay.eval.studies.targets.ingests import count_stale
from assay.retrievers.base import AssayError, Document
from assay.retrievers.engines.conformance import RULES
from assay.retrievers.engines.conformance.sample import FEW, TEXTS, encode, index
from assay.retrievers.engines.registry import ENGINES as STORES
from assay.retrievers.engines.stores.neo4j import Neo4jSettings, Neo4jStore
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif("NEO4J_URL" not in os.environ, reason="$NEO4J_URL is not set"),
]

ENGINES = {
    "exact": {},
    "hnsw": {"exact": False},
    "standard": {"analyzer": "standard"},
}
LONG_QUERY = "how does the harbour open in winter when the ice and the tide come in together"
PARTS = ("ferry", "harbour", "winter", "lantern", "anchor")


def document(id_, *words):
    """Return a document of a section a word, each a chunk of its own."""
    sections = (f"## {word}\n\n" + f"The {word} of {id_} is told of here. " * 4 for word in words)
    return Document(id_, "\n\n".join(sections))


DOCUMENTS = (document("a", *PARTS), document("b", *PARTS[:3]))


def build(resources, stages=False, **settings):
    """Return a pipeline of a keyword leg in Neo4j."""
    leg = {"type": "engine_keyword", "engine": {"type": "neo4j", **settings}}
    more = {"stages": [{"type": "neighbours", "score_delta": None, "top": 1}]} if stages else {}
    chunker = {"type": "structure", "max_tokens": 60, "overlap_tokens": 0}
    return PipelineConfig.model_validate(
        {"name": "live", "documents": {"chunker": chunker},
         "retriever": {"legs": {"words": leg}, **more}}
    ).build(resources)  # fmt: skip


@pytest.fixture
def resources():
    return Resources(Cache(default_root()))


@pytest.fixture(scope="module")
def store():
    """The server; what is made on it meanwhile is removed, to the last node and index."""
    with closing(Neo4jStore(Neo4jSettings())) as asked:
        before = asked.find_notes()
        yield asked
        for name in asked.find_notes():
            if name not in before:
                asked.drop(name)
                assert not asked._read(f"MATCH (n) WHERE n:{name} OR n:{name}_document RETURN n")
        left = asked._read("SHOW INDEXES YIELD name WHERE name STARTS WITH 'assay_' RETURN name")
        assert {name[:30] for (name,) in left} <= {name[:30] for name in before}


def links(store):
    """Return the texts of all chunks that follow one another."""
    found = store._read("MATCH (b)-[:NEXT_CHUNK]->(c) RETURN b.text, c.text")
    return {(before, after) for before, after in found}


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("name", ENGINES)
def test_neo4j_keeps_the_rules(name, rule, resources, store):
    settings = Neo4jSettings.model_validate(ENGINES[name])
    rule.check(lambda: settings.build(resources))


def test_the_vector_index_tells_its_recall(resources, store):
    with closing(Neo4jSettings(exact=False).build(resources)) as engine:
        index(engine)
        assert engine.metadata()["recall_against_exact"] > 0.9
        assert engine.metadata()["version"].startswith("5.")


def test_words_of_a_query_are_no_operators(resources, store):
    with closing(Neo4jSettings().build(resources)) as engine:
        index(engine, FEW)
        for text in ("dog AND zebra", "+zebra dog", "zebra && dog", "NOT dog", "dog^0", "TO dog"):
            assert [position for position, _ in engine.keyword(text, 5)] == [1], text
        (once, twice) = (engine.keyword(text, 5)[0][1] for text in ("dog", "dog dog"))
        assert twice == pytest.approx(2 * once)
        with pytest.raises(AssayError, match=r"^neo4j at bolt\S+: answered: .*"):
            engine.keyword(" ".join(f"word{i}" for i in range(2000)), 5)


def test_what_is_made_is_listed_and_can_be_removed(resources, store):
    with closing(Neo4jSettings().build(resources)) as engine, Neo4jSettings().server() as server:
        index(engine, TEXTS[:7])
        name = engine.metadata()["index"]
        assert {each.name: each.texts for each in server.list_stored()}[name] == 7
        server.drop(name)
        assert name not in {each.name for each in server.list_stored()}


def test_a_collection_of_other_vectors_is_refused(resources, store):
    settings = Neo4jSettings(collection="vectors")
    with closing(settings.build(resources)) as engine:
        index(engine, FEW)
        with pytest.raises(AssayError, match="vectors of another model; remove it with assay eng"):
            index(engine, FEW, "another")


def test_an_edit_replaces_the_set_of_its_document(resources, store):
    """What is stale is gone, what did not change is the same node, and order is the new one."""
    edited = (document("a", "anchor", "ferry", "zeppelin"), DOCUMENTS[1])
    with closing(build(resources, collection="manual")) as pipeline:
        pipeline.index(DOCUMENTS)
        (label,) = {labels[0] for (labels,) in store._read(
            "MATCH (c)-[:PART_OF]->({id: 'b'}) RETURN labels(c)"
        )}  # fmt: skip
        nodes = f"MATCH (c:{label})-[:PART_OF]->(d {{id: $id}}) RETURN elementId(c), c.text"
        kept = store._read(nodes, id="b")
        old = {text for _, text in store._read(nodes, id="a")}
        assert (len(kept), len(old)) == (3, 5)
        report = pipeline.index(edited)
        assert report.cached == ("chunk",) or report.cached == ()
        new = {text for _, text in store._read(nodes, id="a")}
        assert new == {chunk.text for chunk in pipeline.list_chunks() if chunk.doc_id == "a"}
        assert store._read(nodes, id="b") == kept
        assert store.count(label) == len(pipeline.list_chunks()) == 6
        assert pipeline.search("harbour", 9).hits[0].chunk.doc_id == "b"
        assert [hit.chunk.doc_id for hit in pipeline.search("lantern", 9).hits] == []
        assert [hit.chunk.doc_id for hit in pipeline.search("zeppelin", 9).hits] == ["a"]
        for hit in pipeline.search("ferry", 9).hits:
            assert "ferry" in hit.chunk.text
        texts = {chunk.doc_id: [] for chunk in pipeline.list_chunks()}
        for chunk in sorted(pipeline.list_chunks(), key=lambda chunk: chunk.start):
            texts[chunk.doc_id].append(chunk.text)
        here = {pair for listed in texts.values() for pair in pairwise(listed)}
        assert here <= links(store)
        pipeline.index(DOCUMENTS[1:])
        assert store._read(f"MATCH (d:{label}_document) RETURN d.id") == [["b"]]
        assert store._read(nodes, id="b") == kept
    with closing(build(resources, collection="manual")) as again:
        again.index(DOCUMENTS[1:])
        assert len(again.search("harbour", 9).hits) == 1
    assert len([n for n in store.find_notes() if n == label]) == 1


def test_neighbours_are_read_through_next_chunk(resources, store):
    with closing(build(resources, stages=True, collection="walk")) as pipeline:
        pipeline.index(DOCUMENTS)
        (first, *beside) = (hit.chunk for hit in pipeline.search(f"{LONG_QUERY} lantern", 3).hits)
        assert {chunk.start < first.start for chunk in beside} == {True, False}
        assert {chunk.doc_id for chunk in (first, *beside)} == {"a"}
        label = store._read("MATCH (c {text: $text}) RETURN labels(c)", text=first.text)[0][0][0]
        store._read(f"MATCH (:{label})-[link:NEXT_CHUNK]->() DELETE link", access="WRITE")
        counts = pipeline.search(f"{LONG_QUERY} lantern", 3).trace[-1].counts
        assert (counts["expanded"], counts["added"], counts["moved"]) == (0, 0, 0)


def test_combine_split_keeps_its_criteria(resources, store):
    """Nothing is stale after an edit, and what is found is what is found in this process."""
    config = load_config("combine_split", engine="neo4j")
    types = {leg.type for leg in config.retriever.legs.values()}
    assert types == {"engine_dense", "engine_keyword"}
    collection = load("harbourline")
    found = count_stale(lambda: closing(config.build(resources)), collection, 10)
    assert found.stale == 0
    assert found.found > found.cuts / 2
    with (
        closing(config.build(resources)) as there,
        closing(load_config("combine_split").build(resources)) as here,
    ):
        there.index(collection.documents)
        here.index(collection.documents)
        expanded = 0
        for query in collection.queries:
            traces = [
                {entry.name: entry for entry in pipeline.search(query.text, 10).trace}
                for pipeline in (there, here)
            ]
            expanded += traces[0]["neighbours"].counts["expanded"]
            assert traces[0]["context"].counts["tokens"] <= 4500
            dense = [{name for name, _ in trace["dense"].candidates} for trace in traces]
            assert dense[0] == dense[1]
        assert expanded


@pytest.mark.parametrize(
    ("dense", "keyword"),
    [("qdrant-edge", "neo4j"), ("neo4j", "sqlite"), ("neo4j", "neo4j"), ("neo4j", "opensearch"),
     ("opensearch", "neo4j"), ("qdrant", "neo4j")],
)  # fmt: skip
def test_a_leg_may_be_in_another_store(dense, keyword, model_workshop, store):
    for engine in (dense, keyword):
        address = STORES.types[engine].capabilities.address
        if address and address not in os.environ:
            pytest.skip(f"${address} is not set")
    check_pair(model_workshop, dense, keyword)


def test_what_fails_is_one_line(resources, store):
    with closing(Neo4jSettings(timeout_seconds=0.001).build(resources)) as engine:
        vectors = np.array([encode(text) for text in TEXTS], np.float32)
        with pytest.raises(AssayError, match=r"^neo4j at bolt\S+: (no answer|cannot be)"):
            engine.index(TEXTS, vectors, "slow")
