"""OpenSearch's lexical side, run for real against osmem, which speaks its bulk, mapping, alias and
match requests. Its scores are its own: it has no similarity to set."""

import os
import re

import numpy as np
import pytest
from doubles.opensearch_proxy import Proxy
from pydantic import ValidationError
from tools.extras import skip_without

from assay.retrievers.base import AssayError, Chunk
from assay.retrievers.conformance import RULES as RETRIEVER_RULES
from assay.retrievers.conformance import Subject
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.engines.conformance import RULES
from assay.retrievers.engines.conformance.sample import encode
from assay.retrievers.engines.servers.engine import StoreEngine
from assay.retrievers.engines.stores.opensearch import OpenSearchSettings, OpenSearchStore
from assay.retrievers.legs.native import EngineKeywordSettings, NativeHybridSettings
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

skip_without("opensearchpy", "opensearch")
pytest.importorskip("osmem_server", reason="osmem-server is not installed")

NO_VECTORS = {"method": "none"}
TEN = [f"text {i} of the ferry" for i in range(10)]
LEXICAL = {
    "nothing_is_found_in_nothing",
    "keyword_finds_shared_terms",
    "same_answer_again",
    "odd_texts_are_data",
    "threads_are_safe",
    "facts_are_plain",
    "smaller_limits_give_heads",
    "equal_scores_are_ordered_by_position",
}


@pytest.fixture
def url(osmem_base, monkeypatch):
    """A server of the test's own, without any index."""
    with osmem_base.clone() as clone:
        monkeypatch.setenv("OPENSEARCH_URL", clone.url)
        yield clone.url


def open_leg(url, texts, **settings):
    leg = make_leg(url, **settings)
    leg.index(make_corpus(texts))
    return leg


def make_leg(url, **settings):
    os.environ["OPENSEARCH_URL"] = url
    engine = {"type": "opensearch", "knn": NO_VECTORS, **settings}
    leg = EngineKeywordSettings.model_validate({"type": "engine_keyword", "engine": engine})
    return leg.build(Resources(Cache(default_root())))


def make_corpus(texts):
    count = len(texts)
    return Corpus([Chunk(f"{count - i:06d}", "d", 0, 1, text) for i, text in enumerate(texts)])


def find(leg, query, depth=100):
    return [position for position, _ in leg.search(query, depth).candidates]


class Lexical(StoreEngine):
    """The engine with the half of it that this server has."""

    def dense(self, vector, limit):
        return []

    def hybrid(self, text, vector, limit):
        return self.keyword(text, limit)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.name in LEXICAL], ids=str)
def test_the_engine_keeps_the_rules_of_words(rule, url):
    rule.check(lambda: Lexical(OpenSearchSettings(), Resources(Cache(default_root()))))


@pytest.mark.parametrize("rule", RETRIEVER_RULES, ids=str)
def test_a_pipeline_with_the_leg_keeps_the_rules(rule, url):
    config = PipelineConfig.model_validate(
        {
            "name": "under-test",
            "retriever": {
                "legs": {
                    "keyword": {
                        "type": "engine_keyword",
                        "engine": {"type": "opensearch", "knn": NO_VECTORS},
                    }
                }
            },
        }
    )
    rule.check(Subject(lambda: config.build(Resources(Cache(default_root())))))


def test_the_index_is_found_again(url):
    first, again, other = make_leg(url), make_leg(url), make_leg(url, bm25={"k1": 2.0})
    made = first.index(make_corpus(TEN))
    assert (made.chunks, made.cached) == (10, ())
    assert made.bytes > 0
    found = again.index(make_corpus(TEN))
    assert (found.cached, found.seconds) == (("engine",), made.seconds)
    assert find(first, "ferry 3") == find(again, "ferry 3")
    assert other.index(make_corpus(TEN)).cached == ()
    assert re.fullmatch("assay_[0-9a-f]{16}", first.metadata()["engine"]["index"])
    with OpenSearchSettings().server() as server:
        assert [stored.texts for stored in server.list_stored()] == [10, 10]
    for analyzer, finds in (("english", [0, 1]), ("whitespace", [1]), ("german", [1])):
        leg = open_leg(url, ["the ferries sail", "a ferry", "dogs"], bm25={"analyzer": analyzer})
        assert sorted(find(leg, "ferry")) == finds
        leg.close()


def test_the_server_lists_and_drops_only_what_is_ours(url):
    leg, settings = open_leg(url, TEN), OpenSearchSettings()
    store = OpenSearchStore(settings)
    for name in ("assay_of_gold", "payroll"):
        store.call("indices.create", index=name, body={})
    with settings.server() as server:
        (stored,) = server.list_stored()
        assert (stored.name, stored.texts) == (leg.metadata()["engine"]["index"], 10)
        assert stored.bytes
        assert stored.created.endswith("Z")
        for name in ("payroll", "assay_of_gold", "*", "_all", "assay_*", "a,b", "other"):
            with pytest.raises(AssayError, match="no collection that Assay made"):
                server.drop(name)
        server.drop(stored.name)
        server.drop(stored.name)
        assert server.list_stored() == []
    assert set(store.call("indices.get_alias")) == {"assay_of_gold", "payroll"}
    store.close()


def test_many_texts_go_in_several_requests(url):
    texts = [f"text {i}" for i in range(600)] + ["long " * 100_000, "long " * 100_000, "end"]
    with Proxy(url) as proxy:
        leg = open_leg(proxy.url, texts)
        sizes = [len(asked.body.splitlines()) for asked in proxy.asked if "_bulk" in asked.path]
    assert sorted(size // 2 for size in sizes) == [2, 101, 500]  # four are under way at once
    assert sorted(find(leg, "599 end")) == [599, 602]


def test_the_leg_finds_nothing_in_nothing(url):
    leg = open_leg("http://127.0.0.1:1", [])
    assert leg.search("ferry", 5).candidates == []
    leg = open_leg(url, TEN)
    result = leg.search(" \n", 5)
    assert (result.candidates, list(result.milliseconds)) == ([], ["encode", "search"])
    assert find(leg, "zebra") == []
    leg.close()
    leg.close()


def test_a_vector_of_another_length_is_refused(url):
    engine = OpenSearchSettings().build(Resources(Cache(default_root())))
    engine.index(["ferry"], encode("ferry")[None], "hashing")
    for search in (engine.dense, lambda vector, limit: engine.hybrid("ferry", vector, limit)):
        with pytest.raises(AssayError, match="33 dimensions was asked for; those indexed have 32"):
            search(np.ones(33, np.float32), 5)
    engine.close()


@pytest.mark.parametrize("search", ["dense", "hybrid"])
def test_without_vectors_there_is_the_keyword_list_alone(search, url):
    settings = OpenSearchSettings.model_validate({"knn": NO_VECTORS})
    assert settings.searches == ("keyword",)
    engine = settings.build(Resources(Cache(default_root())))
    engine.index(["ferry"], encode("ferry")[None], "hashing")
    arguments = (encode("ferry"), 5) if search == "dense" else ("ferry", encode("ferry"), 5)
    with pytest.raises(AssayError, match=f"opensearch has no {search} search with these settings"):
        getattr(engine, search)(*arguments)
    engine.close()
    leg = {"type": "native_hybrid", "engine": {"type": "opensearch", "knn": NO_VECTORS}}
    with pytest.raises(ValidationError, match="no hybrid search with these settings, only keyword"):
        NativeHybridSettings.model_validate(leg)
