"""Neo4j as far as no server is needed: its query language, its errors, what settings allow."""

import pytest
from tools.server_engines import one_line

from assay.eval.configs.config import load_config
from assay.retrievers.base import AssayError
from assay.retrievers.engines.conformance.sample import FEW, index
from assay.retrievers.engines.stores.neo4j import Neo4jSettings, quote
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

CLOSED = "bolt://127.0.0.1:1"


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("two words", "two words"),
        ("  dog\tdog\n cat\x00 ", "(dog)^2 cat"),
        ("a AND b", r"a \AND b"),
        ("not NOT", r"not \NOT"),
        ("ferry:ticket* (x)", r"ferry\:ticket\* \(x\)"),
        (r'"a\b"', r"\"a\\b\""),
        ("\x00 ", ""),
    ],
)
def test_no_character_of_a_text_is_an_operator(text, query):
    assert quote(text) == query


def build(**settings):
    chosen = {"type": "neo4j", "retries": {"attempts": 2, "pause": 0.0}, **settings}
    return Neo4jSettings.model_validate(chosen).build(Resources(Cache(default_root())))


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:7687", "bolt://me:secret@here", "bolt://"])
def test_an_address_that_is_none(url, monkeypatch):
    monkeypatch.setenv("NEO4J_URL", url)
    problem = one_line(lambda: index(build(), FEW))
    assert problem == (
        "engine neo4j: set NEO4J_URL to the server's address, bolt://HOST:PORT or neo4j://HOST:PORT"
        ", without user and password; these are NEO4J_USER and NEO4J_PASSWORD"
    )


def test_a_server_that_is_not_there(monkeypatch):
    pytest.importorskip("neo4j", reason="needs the extra `neo4j`")
    monkeypatch.setenv("NEO4J_URL", CLOSED)
    monkeypatch.setenv("NEO4J_PASSWORD", "secret")
    problem = one_line(lambda: index(build(), FEW))
    assert problem.startswith(f"neo4j at {CLOSED}: cannot be reached: ")
    assert problem.endswith(" (2 tries)")
    assert "secret" not in problem


def test_both_legs_move_and_keep_their_words_and_windows():
    legs = load_config("combine_split", engine="neo4j").model_dump()["retriever"]["legs"]
    assert (legs["dense"]["type"], legs["dense"]["windows"]) == ("engine_dense", "max")
    assert legs["keyword"]["type"] == "engine_keyword"
    assert legs["keyword"]["engine"]["analyzer"] == "english"
    assert {leg["engine"]["type"] for leg in legs.values()} == {"neo4j"}
    assert {leg["depth"] for leg in legs.values()} == {20}
    moved = load_config("combine_split", engine="faiss").model_dump()["retriever"]["legs"]
    assert [leg["type"] for leg in moved.values()] == ["engine_dense", "bm25"]
    # What a keyword leg cannot keep is named, and it fuses nothing itself.
    for config, says in (
        ("hierarchical_document", r"legs\.keyword: not allowed in an engine: b, k1, variant; allo"),
        ("native_hybrid", r"fuses its dense and keyword search here$"),
    ):
        with pytest.raises(AssayError, match=says):
            load_config(config, engine="neo4j")
