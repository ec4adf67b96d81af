"""HTTP services as retrievers: what they may answer, and how they fail."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import perf_counter

import pytest

from assay.retrievers.base import AssayError, Document, Passage
from assay.retrievers.documents.preparation import DocumentSettings
from assay.retrievers.foreign.http import HttpSettings
from assay.retrievers.services.retries import RetrySettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

DOCUMENTS = (
    Document("a.md", "First. Second.", passages=(Passage("p1", 0, 6), Passage("p2", 7, 14))),
    Document("b.md", "Third."),
)


class Service(BaseHTTPRequestHandler):
    """Answers what the test put into `answer`, with `status`."""

    answer: object = None
    status = 200
    asked: dict[str, object]
    token: str | None
    count = 0
    failing = 0  # how many calls are answered 503 before any other
    dripping = False

    def do_POST(self):
        Service.asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Service.token = self.headers.get("Authorization")
        Service.count += 1
        Service.failing -= 1
        self.send_response(503 if Service.failing >= 0 else self.status)
        self.end_headers()
        body = self.answer if isinstance(self.answer, bytes) else json.dumps(self.answer).encode()
        for i in range(len(body) if self.dripping else 0):
            self.wfile.write(body[i : i + 1])
            time.sleep(0.1)
        self.wfile.write(b"" if self.dripping else body)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def url():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/search"
    server.shutdown()
    Service.status, Service.failing, Service.dripping = 200, 0, False


def ask(url, tmp_path, answer, **settings):
    Service.answer, Service.count = answer, 0
    settings_ = HttpSettings(type="http", url=url, **settings)
    with settings_.build(DocumentSettings(), Resources(Cache(tmp_path))) as retriever:
        retriever.index(DOCUMENTS[:1])
        return [(hit.chunk.id, hit.score) for hit in retriever.search("what?", 3).hits]


def test_passages_and_documents_by_id(url, tmp_path):
    rows = [{"id": "p2", "score": 1}, {"id": "a.md", "score": 2.5}, {"id": "p2", "score": 0.5}]
    assert ask(url, tmp_path, {"hits": rows}) == [("p2", 1.0), ("a.md", 2.5)]
    assert Service.asked == {"query": "what?", "k": 3}
    assert Service.token is None
    # The service's own order counts.
    rows = [{"id": id_, "score": 1} for id_ in ("p1", "p2", "a.md")]
    assert ask(url, tmp_path, {"hits": rows}) == [("p1", 1.0), ("p2", 1.0), ("a.md", 1.0)]
    rows = [{"id": "p1"}, {"id": "a.md"}]
    assert ask(url, tmp_path, {"hits": rows}) == [("p1", 1.0), ("a.md", 0.5)]


def test_services_with_chunks_of_their_own(url, tmp_path):
    """A span, a text as it is quoted, and a span that is a passage of the collection."""
    rows = [
        {"document": "a.md", "start": 0, "end": 13, "score": 3},
        {"document": "a.md", "text": "first.  SECOND", "score": 2},
        {"id": "theirs-7", "document": "a.md", "start": 7, "end": 14, "score": 1},
    ]
    found = ask(url, tmp_path, {"hits": rows})
    assert found == [("a.md[0:13]", 3.0), ("p2", 1.0)]
    rows[1]["text"] = "irst. Sec"
    found = ask(url, tmp_path, {"hits": rows})
    assert found == [("a.md[0:13]", 3.0), ("a.md[1:10]", 2.0), ("p2", 1.0)]


def test_a_service_tells_its_steps(url, tmp_path):
    words = [{"id": "p2", "score": 2.5}, {"id": "p1", "score": 1}]
    steps = [
        {"name": "spelling", "kind": "query", "milliseconds": 0.25},
        {"name": "words", "kind": "leg", "milliseconds": 0.5, "hits": words},
    ]
    Service.answer = {"hits": [{"id": "p2", "score": 2.5}], "steps": steps}
    settings = HttpSettings(type="http", url=url)
    with settings.build(DocumentSettings(), Resources(Cache(tmp_path))) as retriever:
        retriever.index(DOCUMENTS)
        found = retriever.search("what?", 3)
    assert [(i.name, i.kind, i.candidates) for i in found.trace] == [
        ("spelling", "query", ()),
        ("words", "leg", (("p2", 2.5), ("p1", 1.0))),
        ("service", "stage", (("p2", 2.5),)),
    ]
    assert [chunk.id for chunk in found.others] == ["p1"]
    assert found.trace[1].milliseconds == 0.5


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"hits": [], "steps": [{"name": "words", "kind": "lag"}]}, "of the kinds query, leg"),
        ({"hits": [], "steps": [{"kind": "leg"}]}, 'expected steps as {"name"'),
        ({"hits": [], "steps": "words"}, "expected steps"),
        ({"hits": [], "steps": {}}, "expected steps"),
        ({"hits": [], "steps": [{"name": "w", "kind": "leg", "milliseconds": -1}]}, "expected st"),
        ({"hits": [], "steps": [{"name": "w", "kind": "leg", "hits": [{"id": "x"}]}]}, "x is nei"),
        ({"hits": [{"id": "elsewhere", "score": 1}]}, "elsewhere is neither a passage nor"),
        ({"hits": [{"score": 1}]}, "is no hit"),
        ({"results": []}, "hits"),
        (b"<html>", "expected .*: <html>"),
        (b'{"hits": [{"id": "p1", "score": NaN}]}', "nan is not a finite number.*NaN"),
        (b'{"hits": [{"id": "p1", "score": -Infinity}]}', "-inf is not a finite number"),
        ({"hits": [{"document": "a.md", "text": "Third.", "score": 1}]}, "does not stand in a.md"),
        ({"hits": [{"document": "a.md", "text": ".", "score": 1}]}, "stands 2 times in a.md"),
        ({"hits": [{"document": "a.md", "start": 9, "end": 99, "score": 1}]}, "is not within a.md"),
        ({"hits": [{"document": "c.md", "start": 0, "end": 1, "score": 1}]}, "c.md is not a doc"),
    ],
)
def test_answers_out_of_form(url, tmp_path, answer, words):
    with pytest.raises(AssayError, match=words) as caught:
        ask(url, tmp_path, answer)
    assert f"{url}: query 'what?': " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_errors_of_the_service(url, tmp_path):
    Service.status = 503
    quick = RetrySettings(attempts=2, pause=0)
    with pytest.raises(AssayError, match=r"'what\?': answered 503: no room here \(2 tries\)"):
        ask(url, tmp_path, b"no\n room here", retries=quick)
    assert Service.count == 2
    Service.status = 404
    with pytest.raises(AssayError, match=r"answered 404: x{200}…$"):
        ask(url, tmp_path, b"x" * 5000)
    assert Service.count == 1


def test_a_call_is_made_again_and_its_pause_is_in_no_latency(url, tmp_path):
    Service.failing = 1
    Service.answer = {"hits": [{"id": "p1", "score": 1}]}
    settings = HttpSettings(type="http", url=url, retries=RetrySettings(pause=0.3))
    with settings.build(DocumentSettings(), Resources(Cache(tmp_path))) as retriever:
        retriever.index(DOCUMENTS[:1])
        begin = perf_counter()
        (trace,) = retriever.search("what?", 3).trace
        whole = (perf_counter() - begin) * 1e3
    assert trace.counts == {"retries": 1}
    assert trace.waited > 200
    assert trace.milliseconds + trace.waited <= whole


def test_an_answer_has_so_much_time_and_so_many_bytes(url, tmp_path):
    """All of it: each byte of this one comes in time."""
    Service.dripping = True
    once = RetrySettings(attempts=1)
    with pytest.raises(AssayError, match=r"no answer within 0\.5 s"):
        ask(url, tmp_path, b"x" * 60, timeout=0.5, retries=once)
    Service.dripping = False
    with pytest.raises(AssayError, match="answered more than 16 MiB: xxx"):
        ask(url, tmp_path, b"x" * (17 << 20))


def test_tokens_come_from_the_environment(url, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "s3cret")
    ask(url, tmp_path, {"hits": []}, token_variable="MY_TOKEN")
    assert Service.token == "Bearer s3cret"
    monkeypatch.setenv("MY_TOKEN", "s3crét")
    with pytest.raises(AssayError, match=r"\$MY_TOKEN holds characters that are not ASCII") as told:
        ask(url, tmp_path, {"hits": []}, token_variable="MY_TOKEN")
    assert "s3cr" not in str(told.value)
    monkeypatch.delenv("MY_TOKEN")
    with pytest.raises(AssayError, match="MY_TOKEN"):
        ask(url, tmp_path, {"hits": []}, token_variable="MY_TOKEN")
    with pytest.raises(ValueError, match="url"):
        HttpSettings(type="http", url="http://user:secret@host/search")
