"""A service of somebody's own is asked each query once, however often its run is cut off."""

import json
import os
import signal
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tools.processes import ROOT, finish, start

pytestmark = pytest.mark.slow

QUERIES = 12
MODULE = """
import json
import os
import urllib.request

from assay.retrievers.base import Chunk, Hit, IndexReport, Ranking, Retriever


class Paid(Retriever):
    nondeterministic = bool(os.environ.get("WAVERING"))

    def index(self, documents):
        self.texts = {item.id: item.text for item in documents}
        return IndexReport(len(documents))

    def search(self, query, k):
        body = json.dumps({"query": query, "k": k}).encode()
        answer = json.load(urllib.request.urlopen(os.environ["PAID_URL"], body))
        name = answer["hits"][0]["id"]
        text = self.texts[name]
        return Ranking((Hit(Chunk(name, name, 0, len(text), text), 1.0),))
"""


class Service(BaseHTTPRequestHandler):
    """Counts the calls for each query, and takes its time."""

    asked: Counter[str]
    first = ""

    def do_POST(self):
        query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["query"]
        Service.asked[query] += 1
        time.sleep(0.1)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"hits": [{"id": self.first, "score": 1}]}).encode())

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def url():
    folder = ROOT / "datasets" / "harbourline" / "docs"
    Service.asked = Counter()
    Service.first = min(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.mark.parametrize("kind", ["http", pytest.param("python", marks=pytest.mark.long)])
def test_a_paid_service_is_asked_once(kind, url, tmp_path):
    (tmp_path / "paid.py").write_text(MODULE)
    own = {"http": f"{{type: http, url: '{url}'}}", "python": "{type: python, class: 'paid:Paid'}"}
    (tmp_path / "own.yaml").write_text(f"name: own\nretriever: {own[kind]}\n")
    reports = tmp_path / "reports"
    places = {
        "ASSAY_DATASET": "harbourline",
        "ASSAY_REPORTS": str(reports),
        "ASSAY_TRUST": "1",
        "PAID_URL": url,
        "PYTHONPATH": f"{tmp_path}:{ROOT}",
    }
    options = (f"limit={QUERIES}", "latency.queries=0", "--no-track", "--json")
    run = ("run", str(tmp_path / "own.yaml"), *options)
    for wanted in (3, 7):
        process = start(*run, environment=places)
        deadline = time.monotonic() + 120
        while count_rankings(reports) < wanted and time.monotonic() < deadline:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    done = [finish(start(*run, environment=places)) for _ in range(2)]
    assert [item.returncode for item in done] == [0, 0], done
    assert done[0].stdout == done[1].stdout
    assert len([path for path in reports.iterdir() if path.name.startswith("own-")]) == 1
    assert len(Service.asked) == QUERIES
    # Whatever was being asked at each of the two kills is asked again.
    assert Service.asked.total() <= QUERIES + 2
    if kind == "python":
        before = Service.asked.total()
        (tmp_path / "paid.py").write_text(f"{MODULE}\nCHANGED = True\n")
        for calls, more in ((1, {}), (2, {"WAVERING": "1"}), (3, {"WAVERING": "1"})):
            assert finish(start(*run, environment=places | more)).returncode == 0
            assert Service.asked.total() == before + calls * QUERIES


def count_rankings(reports):
    files = reports.glob("*/rankings.jsonl")
    return sum(file.read_text().count("\n") for file in files)
