"""What goes wrong with an OpenSearch server, produced on purpose before and in a real one."""

import http.client
import json
import os
import ssl
import subprocess
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from doubles.contract_server import HTML
from doubles.opensearch_proxy import Proxy, Reply, fail
from tools.server_engines import one_line

from assay.retrievers.base import AssayError, Chunk
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.engines.stores.opensearch import OpenSearchSettings, OpenSearchStore
from assay.retrievers.legs.native import EngineKeywordSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache, default_root

pytest.importorskip("opensearchpy", reason="needs the extra `opensearch`")
osmem = pytest.importorskip("osmem_server", reason="osmem-server is not installed")

SAMPLES = Path(__file__).parents[2] / "samples/opensearch_shapes"
ANSWERS = json.loads((SAMPLES / "answers.json").read_text())
CORPUS = Corpus([Chunk(str(9 - i), "d", 0, 1, f"ferry {i}") for i in range(5)])
QUICK = {"attempts": 3, "pause": 0.01}


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for variable in ("OPENSEARCH_URL", "OPENSEARCH_USERNAME", "OPENSEARCH_PASSWORD"):
        monkeypatch.setenv(variable, "")


@pytest.fixture
def url(osmem_base):
    with osmem_base.clone() as clone:
        yield clone.url


def make_leg(url, **settings):
    """Return a leg of words alone on the server."""
    os.environ["OPENSEARCH_URL"] = url
    chosen = {"retries": QUICK, "timeout_seconds": 1.0, **settings}
    engine = {"type": "opensearch", "knn": {"method": "none"}, **chosen}
    leg = EngineKeywordSettings.model_validate({"type": "engine_keyword", "engine": engine})
    return leg.build(Resources(Cache(default_root())))


def on(path, *replies):
    """Answer requests to `path` with `replies` in their order, the last of them for good."""
    return lambda asked: (
        replies[min(asked.number, len(replies) - 1)] if path in asked.path else None
    )


def list_indexes(url):
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    with closing(connection):
        connection.request("GET", "/_alias")
        return json.loads(connection.getresponse().read())


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (Reply("{garbage"), "answered what no OpenSearch answers"),
        (Reply("plain", headers={"Content-Type": "text/plain"}),
         "answered what no OpenSearch answers"),
        (Reply("<html>garbage", 500, HTML), "answered 500: <html>garbage"),
        (Reply(ANSWERS["unauthorised"]["answer"], 401),
         "refuses the key (401); set OPENSEARCH_USERNAME and OPENSEARCH_PASSWORD, or "
         "OPENSEARCH_API_KEY"),
        (Reply(ANSWERS["forbidden"]["answer"], 403),
         "refuses the key (403: security_exception: no permissions for"),
    ],
)  # fmt: skip
def test_what_does_not_pass_is_told_in_one_line(url, reply, problem):
    with Proxy(url, on("_search", reply)) as proxy:
        leg = make_leg(proxy.url)
        leg.index(CORPUS)
        told = one_line(lambda: leg.search("ferry", 5))
        assert len(proxy.searches()) == 1
        assert told.startswith(f"opensearch at {proxy.url}: {problem}")


def test_an_index_without_its_alias_is_not_taken_for_whole(url):
    leg = make_leg(url)
    leg.index(CORPUS)
    settings = OpenSearchSettings()
    with closing(OpenSearchStore(settings)) as store, settings.server() as server:
        store.call("indices.delete_alias", index="assay_*", name="*")
        (left,) = server.list_stored()
        assert left.texts == 0
        assert leg.index(CORPUS).cached == ()
        assert [stored.texts for stored in server.list_stored()] == [5, 0]
        server.drop(left.name)
        assert [stored.texts for stored in server.list_stored()] == [5]


@pytest.mark.parametrize("path", ["_bulk", "_forcemerge", "_cluster/health", "_aliases"])
def test_a_failed_building_removes_what_it_began(url, path):
    def answer(asked):
        return fail(500) if path in asked.path and asked.number == 0 else None

    with Proxy(url, answer) as proxy, pytest.raises(AssayError, match="answered 500"):
        make_leg(proxy.url).index(CORPUS)
    assert list_indexes(url) == {}


def test_an_answer_of_some_shards_is_none(url):
    searched = {"timed_out": False, "hits": {"hits": []}}
    partial = Reply({"_shards": {"total": 2, "successful": 1, "failed": 1}, **searched})
    with Proxy(url, on("_search", partial, partial, None, partial)) as proxy:
        leg = make_leg(proxy.url)
        leg.index(CORPUS)
        assert len(leg.search("ferry", 5).candidates) == 5
        with pytest.raises(AssayError, match=r"503: answered for 1 of 2 shards \(3 tries\)$"):
            leg.search("ferry", 5)


def test_shards_are_awaited_within_a_bound(url):
    with (
        Proxy(url, on("_cluster/health", Reply({"timed_out": True}, 408))) as proxy,
        pytest.raises(
            AssayError, match=r"shards that cannot be asked after 30 s; the server's log"
        ),
    ):
        make_leg(proxy.url).index(CORPUS)
    assert list_indexes(url) == {}


def test_the_mapping_of_what_is_filled_is_not_touched(url):
    with Proxy(url) as proxy:
        made = make_leg(proxy.url).index(CORPUS)
        assert {asked.method for asked in proxy.asked if "_mapping" in asked.path} == {"GET"}
        found = make_leg(proxy.url).index(CORPUS)
    assert found.cached == ("engine",)
    assert found.seconds == made.seconds
    assert found.seconds["engine"] > 0


def test_a_text_that_is_not_indexed_is_named(url):
    failed = {"type": "mapper_parsing_exception", "reason": "failed to\nparse"}
    items = [{"index": {"_id": "0", "status": 201}},
             {"index": {"_id": "1", "status": 400, "error": failed}}]  # fmt: skip
    with Proxy(url, on("_bulk", Reply({"errors": True, "items": items}))) as proxy:
        with pytest.raises(AssayError, match=r"1 texts are not stored, the first, 1, for: mapper"):
            make_leg(proxy.url).index(CORPUS)
        assert sum("_bulk" in asked.path for asked in proxy.asked) == 1
    assert list_indexes(url) == {}


def test_texts_turned_down_for_want_of_room_are_sent_again(url):
    full = {"type": "rejected_execution_exception", "reason": "queue is full"}
    rejected = Reply(
        {"errors": True, "items": [{"index": {"_id": "4", "status": 429, "error": full}}]}
    )
    with Proxy(url, on("_bulk", rejected, rejected, None)) as proxy:
        leg = make_leg(proxy.url)
        leg.index(CORPUS)
        assert leg.search("ferry 4", 1).candidates[0][0] == 4
    with (
        Proxy(url, on("_bulk", rejected)) as proxy,
        pytest.raises(AssayError, match=r"queue is full \(3 tries\)"),
    ):
        make_leg(proxy.url, bm25={"k1": 2.0}).index(CORPUS)


def test_credentials_come_from_the_environment(url, monkeypatch):
    def ask():
        with Proxy(url) as proxy:
            make_leg(proxy.url).index(CORPUS)
        (told,) = {asked.headers.get("authorization", "") for asked in proxy.asked}
        return told

    assert ask() == ""
    monkeypatch.setenv("OPENSEARCH_USERNAME", "reader")
    with pytest.raises(AssayError, match="OPENSEARCH_PASSWORD is not set, the other of the two"):
        ask()
    monkeypatch.setenv("OPENSEARCH_PASSWORD", "secret")
    assert ask() == "Basic cmVhZGVyOnNlY3JldA=="
    monkeypatch.setenv("OPENSEARCH_API_KEY", "abc")
    assert ask() == "ApiKey abc"


@pytest.fixture
def secure_url(tmp_path):
    """A server of TLS whose certificate, at `certificate.pem`, no authority has signed."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out",
         str(certificate)],
        capture_output=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(500)
            self.end_headers()

        def log_message(self, *_): ...

    class Server(HTTPServer):
        def handle_error(self, *_): ...  # who asked refuses the certificate

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = Server(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"https://localhost:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_certificates(secure_url, tmp_path):
    def ask(**settings):
        with pytest.raises(AssayError) as caught:
            make_leg(secure_url, **settings).index(CORPUS)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    refused = ask()
    assert "TLS failed" in refused
    assert "name its authority in ca_certs, or set verify_certs: false" in refused
    assert "answered 500" in ask(ca_certs=str(tmp_path / "certificate.pem"))
    assert "answered 500" in ask(verify_certs=False)
    assert "ca_certs: " in ask(ca_certs=str(tmp_path / "none.pem"))
