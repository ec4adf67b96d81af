"""Adapters of stores that vendors serve, through the vendors' clients."""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from server_engines import is_told, one_line

pytest.importorskip("azure.search.documents", reason="needs the extra `azure-ai-search`")
pytest.importorskip("azure.cosmos", reason="needs the extra `azure-cosmos-nosql`")
pytest.importorskip("pinecone", reason="needs the extra `pinecone`")
pytest.importorskip("pymongo", reason="needs the extra `mongodb`")
pytest.importorskip("elasticsearch", reason="needs the extra `elasticsearch`")

from contract_server import Reply
from pymongo.errors import OperationFailure
from served import SERVED, Served

from retrievers.conformance import Rule
from retrievers.engines import service_collections
from retrievers.engines.azure_cosmos_nosql.formula import UnitedRanks
from retrievers.engines.base import Engine
from retrievers.engines.conformance import (
    FEW,
    RULES,
    encode,
    hybrid_is_fused_from_its_lists,
    index,
    search_fully,
)
from retrievers.engines.elasticsearch.fusion import LinearScores
from retrievers.engines.mongodb.connection import MongoConnection
from retrievers.engines.mongodb.formula import AveragedScores, SharedRanks
from retrievers.engines.retries import count_retries
from retrievers.engines.service import Fault
from retrievers.models.base import Vectors


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_collections, "PAUSE", 0.001)
    monkeypatch.setattr(service_collections, "SETTLING_SECONDS", 5.0)


@pytest.fixture(params=SERVED)
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    chosen = SERVED[request.param]()
    with chosen.serve():
        yield chosen


@pytest.fixture(scope="module", params=SERVED)
def shared(request: pytest.FixtureRequest) -> Iterator[Served]:
    chosen = SERVED[request.param]()
    with chosen.serve():
        yield chosen


def encode_all(texts: Sequence[str]) -> Vectors:
    return np.array([encode(text) for text in texts], np.float32)


def search(engine: Engine) -> Any:
    return search_fully(engine, "running cat", 5)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_rules(shared: Served, rule: Rule) -> None:
    rule.check(shared.make)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("azure-ai-search", {"weight": 2.5, "depth": {"dense": 20, "keyword": 1000}}),
        (
            "azure-cosmos-nosql",
            {"weights": {"dense": 2.0, "keyword": 0.5}, "depth": {"dense": 20, "keyword": 20}},
        ),
        ("mongodb", {"weights": {"dense": 2.0, "keyword": 0.5}, "depth": {"dense": 20}}),
        ("mongodb", {"weights": {"dense": 0.0}}),
        ("mongodb", {"fusion": "score", "weights": {"dense": 3.0, "keyword": 0.5}}),
        ("mongodb", {"fusion": "score", "normalisation": "sigmoid"}),
        ("mongodb", {"fusion": "score", "normalisation": "none", "weights": {"keyword": 0.0}}),
        ("elasticsearch", {"k": 7, "depth": {"dense": 20, "keyword": 20}}),
        ("elasticsearch", {"fusion": "linear", "weights": {"dense": 3.0, "keyword": 0.5}}),
    ],
    ids=str,
)
def test_fusion_by_the_rules(name: str, settings: dict[str, Any]) -> None:
    chosen = SERVED[name]()
    with chosen.serve():
        hybrid_is_fused_from_its_lists(lambda: chosen.make(**settings))


@pytest.mark.parametrize(
    "name", ["azure-ai-search", "azure-cosmos-nosql", "mongodb", "elasticsearch"]
)
def test_approximate_search_tells_its_recall(name: str) -> None:
    chosen = SERVED[name]()
    with chosen.serve(), closing(chosen.make(exact=False)) as e:
        index(e, FEW)
        assert e.facts()["exact"] is False
        assert e.facts()["recall_against_exact"] == 1.0  # the double has no graph


@pytest.mark.parametrize("status", ["429", "503"])
def test_a_busy_service_is_asked_again_when_it_says(served: Served, status: str) -> None:
    with closing(served.make()) as e, count_retries() as cost:
        served.misbehave(status, served.stored, times=1)
        index(e, FEW)
        assert cost.retries == 1
        expected = search(e)
        served.misbehave(status, served.searched, times=2)
        begin = time.perf_counter()
        assert search(e) == expected
        if status == "429" and served.name != "mongodb":
            assert time.perf_counter() - begin > 0.2  # twice as long as it asked for
        assert cost.retries == 3
        served.misbehave(status, served.searched, said="bu\nsy")
        before = served.count_asked(served.searched)
        problem = one_line(lambda: search(e))
        assert f"answered {status}: " in problem
        assert "bu sy (3 tries)" in problem
        assert served.count_asked(served.searched) == before + 3  # the client adds none


def test_an_answer_that_takes_too_long(served: Served) -> None:
    with closing(served.make(timeout_seconds=0.3)) as e:
        index(e, FEW)
        expected = search(e)
        served.misbehave("late", served.searched, times=1)
        with count_retries() as cost:
            assert search(e) == expected
        assert cost.retries == 1
        served.misbehave("late", served.searched)
        assert "no answer within 0.3 s (3 tries)" in one_line(lambda: search(e))


def test_what_was_made_unheard_is_made_once(served: Served) -> None:
    with closing(served.make(timeout_seconds=0.3)) as e, count_retries() as cost:
        served.misbehave("unheard", served.made, times=1)
        index(e, FEW)
        assert cost.retries == 1
        assert search(e)
    assert len(served.kept) == 1


def test_half_an_answer_is_none(served: Served) -> None:
    with closing(served.make()) as e:
        index(e, FEW)
        expected = search(e)
        served.misbehave("half", served.searched, times=1)
        assert search(e) == expected
        served.misbehave("half", served.searched)
        assert "cannot be reached: " in one_line(lambda: search(e))


def test_garbage(served: Served) -> None:
    with closing(served.make()) as e:
        index(e, FEW)
        served.misbehave("garbage", served.searched)
        assert "answered what no " in one_line(lambda: search(e))


def test_a_fresh_index_that_counts_too_few(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    served.double.uncounted = 4
    with closing(served.make()) as e:
        index(e, FEW)
        assert served.double.uncounted == 0
    # It lags again when it is found: that is waited for, and nothing is removed.
    served.double.uncounted = 2
    with closing(served.make()) as e:
        assert e.index(FEW, encode_all(FEW), "hashing").cached == ("engine",)
    assert len(served.kept) == 1
    served.double.uncounted = 10**9
    monkeypatch.setattr(service_collections, "INDEXING_SECONDS", 0.02)
    problem = one_line(lambda: index(served.make(), ("one", "two")))
    assert "1 of 2 texts are stored" in problem


def test_what_fails_half_way_leaves_nothing(served: Served) -> None:
    served.misbehave("500", served.stored, said="disk is full")
    problem = one_line(lambda: index(served.make(), FEW))
    assert "disk is full" in problem
    assert "tries" not in problem
    assert served.kept == set()
    served.behave()
    with closing(served.make()) as e:
        index(e, FEW)


def test_wrong_keys(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(served.key, "wrong-key")
    problem = one_line(lambda: index(served.make(), FEW))
    assert "refuses the key (40" in problem
    assert f"set {served.key} to one that it knows" in problem
    assert "wrong-key" not in problem
    for value, reason in (("", f"set {served.key} "), ("two words", "is no key")):
        if not value and served.name == "elasticsearch":
            continue  # which may be asked without a key
        monkeypatch.setenv(served.key, value)
        problem = one_line(lambda: index(served.make(), FEW))
        assert problem.startswith(f"engine {served.name}: ")
        assert reason in problem
        assert "two words" not in problem


def test_the_key_is_never_shown(served: Served) -> None:
    with closing(served.make()) as e:
        index(e, FEW)
        assert served.secret not in json.dumps(dict(e.facts()))
        served.misbehave("500", served.searched, said=f"no right for {served.secret} here")
        assert "no right for … here" in one_line(lambda: search(e))


def test_addresses_that_are_none(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("", "http://me:s3cret@host", "mongodb://me:s3cret@host", "host", "x://s3cret"):
        monkeypatch.setenv(served.address, value)
        problem = one_line(lambda: index(served.make(), FEW))
        assert problem.startswith(f"engine {served.name}: ")
        assert served.address in problem
        assert "s3cret" not in problem


def test_no_service(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    scheme = "mongodb" if served.name == "mongodb" else "http"
    monkeypatch.setenv(served.address, f"{scheme}://127.0.0.1:9")
    problem = one_line(lambda: index(served.make(timeout_seconds=0.2), FEW))
    assert "127.0.0.1:9: cannot be reached: " in problem
    assert "(3 tries)" in problem


def test_a_whole_collection_is_found_again(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(served.make()) as e:
        first = e.index(FEW, encode_all(FEW), "hashing")
        name = e.facts()["index"]
        expected = search(e)
    with closing(served.make(timeout_seconds=4.0)) as e:
        second = e.index(FEW, encode_all(FEW), "hashing")
        assert e.facts()["index"] == name
    assert (first.cached, second.cached) == ((), ("engine",))
    assert len(served.kept) == 1
    monkeypatch.setattr(service_collections, "SETTLING_SECONDS", 0.02)
    served.lose_a_text()
    with closing(served.make()) as e:
        index(e, FEW)
        assert search(e) == expected
    assert len(served.kept) == 1


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"dimensions": 32', '"dimensions": 77', "77 dimensions, these have 32"),
        ('"identity": "hashing"', '"identity": "another"', "the vectors of another model"),
    ],
)
def test_a_collection_of_another_model_is_refused(
    served: Served, old: str, new: str, problem: str
) -> None:
    with closing(served.make()) as e:
        index(e, FEW)
    served.rewrite_note(old, new)
    assert problem in one_line(lambda: index(served.make(), FEW))


def test_two_that_index_at_once(served: Served) -> None:
    def act(_: int) -> Any:
        with closing(served.make()) as e:
            index(e, FEW)
            return search(e)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(act, range(2))
    assert first == second
    assert first


def test_what_is_stored_and_its_removal(served: Served) -> None:
    with closing(served.make()) as e:
        index(e, FEW)
        name = e.facts()["index"]
    served.rewrite_note('"complete": true', '"complete": false')
    with closing(served.make()) as e:
        index(e, FEW)
    with served.choose().server() as server:
        lost, kept = sorted(server.list_stored(), key=lambda each: each.texts)
        assert lost.name.startswith(f"{name}_")
        assert (lost.texts, kept.name, kept.texts) == (0, name, len(FEW))
        assert kept.created
        for foreign in ("somebody_elses", "../x", "notes"):
            assert "no collection that Assay" in one_line(partial(server.drop, foreign))
        for stored in (lost, kept, kept):
            server.drop(stored.name)
        assert server.list_stored() == []
    assert served.kept == set()


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("pinecone", "pinecone"),
        ("azure-ai-search", "azure.search.documents"),
        ("azure-cosmos-nosql", "azure.cosmos"),
        ("mongodb", "pymongo"),
        ("elasticsearch", "elasticsearch"),
    ],
)
def test_a_missing_extra(name: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = SERVED[name]()
    monkeypatch.setitem(sys.modules, module, None)
    with chosen.serve(), closing(chosen.make()) as e:
        problem = one_line(lambda: index(e, FEW))
    assert problem == f"engine {name}: needs the extra `{name}`: make extra NAME={name}"


@pytest.mark.parametrize(
    ("name", "ask", "reason"),
    [
        ("pinecone", lambda it, name: _ask_pinecone(it, name, [0.1] * 31), "dimension"),
        (
            "azure-ai-search",
            lambda it, name: list(it.open_index(name).search("ferry*", search_fields=["text"])),
            "an operator",
        ),
        (
            "azure-ai-search",
            lambda it, name: list(it.open_index(name).search(select=["vector"])),
            "cannot be retrieved",
        ),
        (
            "azure-cosmos-nosql",
            lambda it, name: list(
                it.open_container(name).query_items(
                    'SELECT TOP 9 FullTextScore(c.text, "dog") FROM c', partition_key="texts"
                )
            ),
            "Syntax error",
        ),
        (
            "mongodb",
            lambda it, name: _aggregate(it, name, {"$vectorSearch": {**NEAR, "exact": False}}),
            "numCandidates",
        ),
        (
            "mongodb",
            lambda it, name: _aggregate(
                it, name, {"$rankFusion": {"input": {"pipelines": {"a": [{"$project": {}}]}}}}
            ),
            "no selection pipeline",
        ),
    ],
)
def test_the_contract_is_kept(name: str, ask: Any, reason: str) -> None:
    """What a reference does not allow is refused, so that an adapter cannot ask it."""
    chosen = SERVED[name]()
    with chosen.serve(), closing(chosen.make()) as e, closing(chosen.choose().connect()) as it:
        index(e, FEW)
        (kept,) = chosen.kept
        problem = one_line(lambda: it.ask(lambda: ask(it, kept)))
    assert "answered " in problem
    assert reason in problem


NEAR = {"index": "vectors", "path": "vector", "queryVector": [0.1] * 32, "limit": 3}


def _ask_pinecone(connection: Any, name: str, values: list[float]) -> Any:
    clause = {"type": "dense_vector", "field": "vector", "values": values}
    found = connection.open_index(name).documents
    return found.search(namespace="texts", score_by=[clause], top_k=3)


def _aggregate(connection: Any, name: str, stage: dict[str, Any]) -> Any:
    return list(connection.open_collection(name).aggregate([stage]))


def test_documents_that_azure_takes_only_later() -> None:
    chosen = SERVED["azure-ai-search"]()
    with chosen.serve(), closing(chosen.make()) as e, count_retries() as cost:
        chosen.double.unstored = 2
        index(e, FEW)
        assert cost.retries == 1
        assert {position for position, _ in e.keyword("cats cat dog", 9)} == {0, 1, 2}


def test_a_container_that_is_made_and_indexed_only_later() -> None:
    chosen = SERVED["azure-cosmos-nosql"]()
    unmade = Reply({"message": "being made"}, 404, {"x-ms-substatus": "1013"})
    left = [unmade, unmade]
    with chosen.serve(), closing(chosen.make()) as e, count_retries() as cost:
        chosen.double.unindexed = 3
        chosen.double.fault = lambda asked: (
            left.pop() if left and "batch" in chosen.double.name(asked) else None
        )
        index(e, FEW)
        assert (chosen.double.unindexed, cost.retries) == (0, 2)


def test_lists_of_cosmos_that_come_in_pages() -> None:
    """Its client reads the first page of what it ranks: what goes on there is no answer."""
    chosen = SERVED["azure-cosmos-nosql"]()
    with chosen.serve(), closing(chosen.make()) as e:
        index(e, FEW)
        chosen.double.page = 2
        assert len(e.dense(encode("cat"), 5)) == 5
        for ask in (lambda: search(e), lambda: e.keyword("the cats cat", 5)):
            assert "a ranked list came in several pages (3 tries)" in one_line(ask)


def test_vectors_of_cosmos_that_no_flat_index_holds() -> None:
    chosen = SERVED["azure-cosmos-nosql"]()
    long = np.eye(2, 506, dtype=np.float32)
    with chosen.serve(), closing(chosen.make()) as e:
        e.index(("one", "two"), long, "long")
        assert e.dense(long[1], 1) == [(1, 1.0)]
        (container,) = chosen.double.indexes.values()
        (kept,) = container.made["indexingPolicy"]["vectorIndexes"]
        assert kept["type"] == "quantizedFlat"


def test_ranks_of_cosmos() -> None:
    fused = UnitedRanks(60, (1.0, 2.0)).fuse([(1, 0.9), (2, 0.5), (3, 0.5)], [(2, 4.0), (4, 4.0)])
    expected = {1: 1 / 61 + 2 / 62, 2: 1 / 62 + 2 / 61, 3: 3 / 62, 4: 1 / 63 + 2 / 61}
    assert dict(fused) == pytest.approx(expected)


def test_an_old_mongodb() -> None:
    chosen = SERVED["mongodb"]()
    with chosen.serve():
        chosen.double.version = "8.0.4"
        with closing(chosen.make()) as e:
            index(e, FEW)
            assert e.facts()["version"] == "8.0.4"
        problem = one_line(lambda: index(chosen.make(fusion="score"), FEW))
        assert "8.0.4 is too old: $scoreFusion needs 8.2 or later" in problem


def test_elasticsearch_with_a_basic_licence() -> None:
    chosen = SERVED["elasticsearch"]()
    chosen.double.licence = "basic"
    with chosen.serve(), closing(chosen.make()) as e:
        index(e, FEW)
        assert [position for position, _ in e.keyword("dog", 3)] == [1]
        assert is_told(one_line(lambda: search(e)))
    with chosen.serve(), closing(chosen.make(fusion="linear")) as e:
        index(e, FEW)
        assert "its licence lacks linear retriever" in one_line(lambda: search(e))


def test_the_bare_client_of_elasticsearch_finds_the_same() -> None:
    chosen = SERVED["elasticsearch"]()
    with chosen.serve(), closing(chosen.make()) as e:
        index(e, FEW)
        bare = e.open_bare()
        assert bare is not None
        assert bare.dense is not None
        assert bare.keyword is not None
        dense, keyword = bare.dense(encode("cat"), 3), bare.keyword("cat dog", 3)
        assert [int(id_) for id_, _ in dense()] == [at for at, _ in e.dense(encode("cat"), 3)]
        assert [int(id_) for id_, _ in keyword()] == [at for at, _ in e.keyword("cat dog", 3)]
        bare.close()


def test_an_old_elasticsearch() -> None:
    chosen = SERVED["elasticsearch"]()
    with chosen.serve():
        chosen.double.version = "8.17.2"
        problem = one_line(lambda: index(chosen.make(fusion="linear"), FEW))
        assert "8.17.2 is too old: the retriever linear with minmax needs 8.18" in problem
        chosen.double.compatible = (7, 8)
        assert is_told(one_line(lambda: index(chosen.make(), FEW)))


def test_elasticsearch_answers_for_a_part() -> None:
    chosen = SERVED["elasticsearch"]()
    with chosen.serve(), closing(chosen.make()) as e, count_retries() as cost:
        chosen.double.unstored = 2
        index(e, FEW)
        assert cost.retries == 1
        assert {position for position, _ in e.keyword("cats cat dog", 9)} == {0, 1, 2}
        chosen.double.shards_answering = 0
        assert "answered 503: answered for 0 of 1 shards (3 tries)" in one_line(lambda: search(e))


def test_linear_scores_of_elasticsearch() -> None:
    dense, keyword = [(3, 0.8), (1, 0.4), (2, 0.0)], [(1, 7.0)]
    fused = dict(LinearScores((2.0, 0.5)).fuse(dense, keyword))
    assert fused == pytest.approx({3: 2.0, 1: 1.0 + 3.5, 2: 0.0})
    assert LinearScores((1.0, 1.0)).fuse([], []) == []


def test_formulas_of_mongodb() -> None:
    keyword = [(4, 3.0), (5, 3.0), (6, 1.0)]
    ranks = dict(SharedRanks(60, (1.0, 2.0)).fuse([(4, 0.9)], keyword))
    assert ranks == pytest.approx({4: 3 / 61, 5: 2 / 61, 6: 2 / 63})
    scaled = dict(AveragedScores("minMaxScaler", (2.0, 1.0)).fuse([(4, 0.5), (7, 0.1)], keyword))
    assert scaled == pytest.approx({4: 1.5, 5: 0.5, 6: 0.0, 7: 0.0})
    plain = dict(AveragedScores("none", (1.0, 0.0)).fuse([(4, 0.5)], keyword))
    assert plain == pytest.approx({4: 0.375})


@pytest.mark.parametrize(
    ("name", "settings", "problem"),
    [
        ("azure-ai-search", {"depth": {"keyword": 100}}, "fuses 1000 texts of the keyword list"),
        ("azure-ai-search", {"m": 11}, "less than or equal to 10"),
        ("azure-cosmos-nosql", {"depth": {"dense": 50}}, "make both the same"),
        ("azure-cosmos-nosql", {"depth": {"dense": 2000, "keyword": 2000}}, "1000 texts at most"),
        ("azure-cosmos-nosql", {"weights": {"dense": 0, "keyword": 0}}, "one of dense"),
        ("mongodb", {"weights": {"dense": 0, "keyword": 0}}, "one of dense and keyword"),
        ("mongodb", {"depth": {"dense": 20_000}}, "10000 vectors at most"),
        ("elasticsearch", {"depth": {"dense": 50}}, "make both the same"),
        ("elasticsearch", {"weights": {"dense": 2.0}}, "rrf has no weights here"),
    ],
)
def test_settings_that_a_service_does_not_allow(
    name: str, settings: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ValidationError, match=problem):
        SERVED[name]().choose(**settings)


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("bad auth : Authentication failed.", 401),
        ("you are over your space quota, using 512 MB of 512 MB", 8000),
        ("collection authors: you are over your space quota, using 512 MB of 512 MB", 8000),
    ],
)
def test_atlas_says_by_words_whether_it_knows_the_user(said: str, status: int) -> None:
    failure = OperationFailure(said, 8000, {"ok": 0, "errmsg": said, "code": 8000})
    assert MongoConnection.find_fault(failure) == Fault("answered", said, status)
