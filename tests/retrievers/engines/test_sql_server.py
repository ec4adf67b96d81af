"""SQL Server by contract: no server was met. Its statements are approved as text."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from doubles.sql_server import PASSWORD, SqlServerDouble
from tools.server_engines import index_at_once, one_line

from assay.eval.configs.config import load_config
from assay.retrievers.base import AssayError
from assay.retrievers.engines.conformance import RULES
from assay.retrievers.engines.conformance.sample import FEW, TEXTS, encode, index
from assay.retrievers.engines.servers import collections as service_collections
from assay.retrievers.engines.stores.sql_server import SqlServerSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

APPROVED = Path(__file__).parents[2] / "samples" / "sql_server_statements.sql"


@pytest.fixture
def errors():
    """The exceptions of the driver itself."""
    return pytest.importorskip("mssql_python.exceptions", reason="needs the extra `sql-server`")


@pytest.fixture
def double(monkeypatch):
    monkeypatch.setattr(service_collections, "PAUSE", 0.001)
    monkeypatch.setattr(service_collections, "SETTLING_SECONDS", 0.02)
    made = SqlServerDouble()
    made.serve(monkeypatch)
    return made


def build(**settings):
    chosen = {"type": "sql-server", "retries": {"attempts": 2, "pause": 0.0}, **settings}
    return SqlServerSettings.model_validate(chosen).build(Resources(Cache(default_root())))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_rules(rule, double):
    rule.check(build)


def test_the_statements_are_the_approved_ones(double):
    with closing(build()) as engine:
        index(engine)
        engine.dense(encode("ferry"), 3)
        restricted = engine.restrict(np.array([1, 2]))
        assert [i for i, _ in restricted.dense(encode("ferry"), 9)] in ([1, 2], [2, 1])
        name = engine.metadata()["index"]
    with SqlServerSettings().server() as server:
        assert [stored.name for stored in server.list_stored()] == [name]
        server.drop(name)
        assert server.list_stored() == []
    assert not double.tables
    said = ";\n\n".join(sorted(double.statements)) + ";\n"
    assert said == APPROVED.read_text()


def test_a_password_ends_no_part_of_the_address(double):
    with closing(build()) as engine:
        index(engine, FEW)
    assert double.connections[0] == (
        "Server={db.example,1444};Database={passages};UID={me};PWD={se}}cret;PWD=x};Encrypt={yes};"
        "TrustServerCertificate={no};"
    )
    with closing(build(verify_certs=False)) as engine:
        index(engine, FEW)
    assert "TrustServerCertificate={yes};" in double.connections[-1]


def test_a_table_is_found_again_and_two_at_once_agree(double):
    index_at_once(build, FEW, lambda engine: engine.dense(encode("cat"), 5))
    assert len(double.tables) == 1
    with closing(build()) as engine:
        vectors = np.array([encode(text) for text in FEW], np.float32)
        assert engine.index(FEW, vectors, "hashing").cached == ("engine",)
        (table,) = double.tables.values()
        table.popitem()
        assert engine.index(FEW, vectors, "hashing").cached == ()
        assert len(engine.dense(encode("cat"), 9)) == len(FEW)


def test_a_batch_that_is_sent_again_is_stored_once(errors, double):
    lost = [errors.OperationalError("Communication link failure", "gone")]
    double.fault = lambda said: lost.pop() if lost and said.startswith("INSERT INTO NAME") else None
    with closing(build()) as engine:
        index(engine, TEXTS)
        (table,) = double.tables.values()
        assert sorted(table) == list(range(len(TEXTS)))
    assert not lost


@pytest.mark.parametrize(
    ("version", "edition", "told"),
    [("17.0.1000.7", 3, "17.0.1000.7"), ("12.0.2000.8", 5, "12.0.2000.8 (Azure SQL)")],
)
def test_versions_that_have_vectors(version, edition, told, double):
    double.version, double.edition = version, edition
    with closing(build()) as engine:
        index(engine, FEW)
        assert engine.metadata()["version"] == told


def test_what_the_server_cannot_do(double):
    with pytest.raises(AssayError, match="vectors of 2000 dimensions; a column holds 1998 at most"):
        build().index(("one",), np.ones((1, 2000), np.float32), "long")
    double.version = "16.0.4000.1"
    problem = one_line(lambda: index(build(), FEW))
    assert problem.startswith("sql-server at sqlserver://db.example:1444/passages: 16.0.4000.1 is ")
    assert problem.endswith("is too old: the type VECTOR needs 17.0 or later")


def test_a_login_that_fails_is_one_line_without_the_password(errors, double):
    double.fault = lambda said: errors.sqlstate_to_exception("28000", f"no {PASSWORD}")
    problem = one_line(lambda: index(build(), FEW))
    assert problem == (
        "sql-server at sqlserver://db.example:1444/passages: refuses the key (401); set "
        "SQL_SERVER_PASSWORD to one that it knows"
    )
    double.fault = lambda said: errors.sqlstate_to_exception("08001", f"no {PASSWORD}")
    problem = one_line(lambda: index(build(), FEW))
    assert problem.endswith(": cannot be reached: no … (2 tries)")


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        (
            "SQL_SERVER_URL",
            "",
            "set SQL_SERVER_URL to the server's address, sqlserver://HOST:PORT/",
        ),
        ("SQL_SERVER_URL", "http://db/x", "set SQL_SERVER_URL to the server's address"),
        ("SQL_SERVER_URL", "sqlserver://me:pw@db/x", "without user and password"),
        ("SQL_SERVER_URL", "sqlserver://db:99999/x", "set SQL_SERVER_URL"),
        ("SQL_SERVER_USER", "", "set SQL_SERVER_USER"),
        ("SQL_SERVER_PASSWORD", "", "set SQL_SERVER_PASSWORD to the service's key"),
    ],
)
def test_what_the_environment_lacks(variable, value, problem, double, monkeypatch):
    monkeypatch.setenv(variable, value)
    said = one_line(lambda: index(build(), FEW))
    assert said.startswith("engine sql-server: ")
    assert problem in said
    assert "pw" not in said


def test_words_are_another_stores(double):
    with pytest.raises(AssayError, match="sql-server has no keyword search, only dense: use a leg"):
        load_config("hybrid_rrf", ["retriever.legs.keyword.engine=sql-server"])
    legs = load_config(
        "hybrid_rrf",
        ["retriever.legs.dense.engine=sql-server", "retriever.legs.keyword.engine=opensearch"],
    ).retriever.legs
    assert [leg.engine.type for leg in legs.values()] == ["sql-server", "opensearch"]
    moved = load_config("hybrid_rrf", engine="sql-server").retriever.legs
    assert [leg.type for leg in moved.values()] == ["engine_dense", "bm25"]
