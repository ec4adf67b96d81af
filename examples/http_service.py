"""A search service in any language can be judged; this one answers with the standard library.

python examples/http_service.py &
assay run examples/http_service.yaml
"""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FOLDER = Path("datasets/tarnwick/docs")
TEXTS = {p.relative_to(FOLDER).as_posix(): p.read_text().lower() for p in FOLDER.rglob("*.md")}


class Search(BaseHTTPRequestHandler):
    """Ranks documents by how often the query's words occur in them."""

    def do_POST(self) -> None:
        """Answer {"query": …, "k": …} with {"hits": [{"id": …, "score": …}, …]}."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        words = asked["query"].lower().split()
        scores = {name: sum(map(text.count, words)) for name, text in TEXTS.items()}
        best = sorted(scores.items(), key=lambda item: -item[1])[: asked["k"]]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"hits": [{"id": i, "score": s} for i, s in best]}).encode())


ThreadingHTTPServer(("127.0.0.1", 8765), Search).serve_forever()
