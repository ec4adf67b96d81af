"""HTTP services as retrievers: what they may answer, and how they fail."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from retrievers.base import AssayError, Document, Passage
from retrievers.documents.preparation import DocumentSettings
from retrievers.external import HttpSettings
from retrievers.settings import Workshop
from retrievers.store.cache import Cache

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

    def do_POST(self) -> None:
        Service.asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Service.token = self.headers.get("Authorization")
        self.send_response(self.status)
        self.end_headers()
        body = self.answer if isinstance(self.answer, bytes) else json.dumps(self.answer).encode()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/search"
    server.shutdown()
    Service.status = 200


def ask(url: str, tmp_path: Path, answer: object, **settings: str) -> list[tuple[str, float]]:
    Service.answer = answer
    settings_ = HttpSettings(type="http", url=url, **settings)
    with settings_.build(DocumentSettings(), Workshop(Cache(tmp_path))) as retriever:
        retriever.index(DOCUMENTS[:1])
        return [(hit.chunk.id, hit.score) for hit in retriever.search("what?", 3).hits]


def test_passages_and_documents_by_id(url: str, tmp_path: Path) -> None:
    rows = [{"id": "p2", "score": 1}, {"id": "a.md", "score": 2.5}, {"id": "p2", "score": 0.5}]
    assert ask(url, tmp_path, {"hits": rows}) == [("a.md", 2.5), ("p2", 1.0)]
    assert Service.asked == {"query": "what?", "k": 3}
    assert Service.token is None


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"hits": [{"id": "elsewhere", "score": 1}]}, "elsewhere"),
        ({"hits": [{"id": "p1"}]}, "score"),
        ({"results": []}, "hits"),
        (b"<html>", "expected"),
    ],
)
def test_answers_out_of_form(url: str, tmp_path: Path, answer: object, words: str) -> None:
    with pytest.raises(AssayError, match=words) as caught:
        ask(url, tmp_path, answer)
    assert url in str(caught.value)


def test_errors_of_the_service(url: str, tmp_path: Path) -> None:
    Service.status = 503
    with pytest.raises(AssayError, match="503"):
        ask(url, tmp_path, {})


def test_tokens_come_from_the_environment(url, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "s3cret")
    ask(url, tmp_path, {"hits": []}, token_variable="MY_TOKEN")
    assert Service.token == "Bearer s3cret"
    monkeypatch.delenv("MY_TOKEN")
    with pytest.raises(AssayError, match="MY_TOKEN"):
        ask(url, tmp_path, {"hits": []}, token_variable="MY_TOKEN")
    with pytest.raises(ValueError, match="url"):
        HttpSettings(type="http", url="http://user:secret@host/search")
