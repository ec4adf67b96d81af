"""`assay check`: somebody's own retriever or part is put to the rules, one by one."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from eval.cli.check import check
from eval.collections.loading import load
from retrievers.base import AssayError

MODULE = """
from dataclasses import replace

from examples.minimum_stage import Minimum, MinimumSettings
from examples.word_overlap import WordOverlap


class Unsorted(WordOverlap):
    def search(self, query, k):
        found = super().search(query, k)
        return replace(found, hits=found.hits[::-1])


class Strict(WordOverlap):
    def search(self, query, k):
        if not query.strip():
            raise KeyError("no words")
        return super().search(query, k)


class Reversing(Minimum):
    def apply(self, query, hits):
        found = super().apply(query, hits)
        return replace(found, hits=list(found.hits)[::-1])


class ReversingSettings(MinimumSettings):
    def build(self, workshop):
        return Reversing(self.words)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a module of somebody's own."""
    (tmp_path / "faulty.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ASSAY_TRUST", "1")
    yield tmp_path
    sys.modules.pop("faulty", None)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(check, arguments)


def failures(result: Result) -> dict[str, str]:
    """Return why each rule that is broken is, by part and rule."""
    assert result.exit_code == 1, result.output
    rules = json.loads(result.stdout)["rules"]
    return {f"{r['part']}: {r['rule']}": r["why"] for r in rules if r["status"] == "failed"}


@pytest.mark.parametrize(
    "what",
    [
        ("examples/word_overlap.yaml",),
        ("examples.word_overlap:WordOverlap",),
        ("examples.heading_leg:HeadingSettings",),
        ("examples.minimum_stage:MinimumSettings", "words=3"),
        ("examples.abbreviation_step:AbbreviationSettings", "words={db: database}"),
        ("examples.hashing_encoder:HashingSettings",),
        ("examples.overlap_cross_encoder:OverlapSettings",),
        ("examples.memory_engine:MemorySettings",),
        ("examples.paragraph_chunker:ParagraphChunker",),
    ],
)
def test_the_examples_keep_every_rule(what: tuple[str, ...]) -> None:
    result = run(*what)
    assert result.exit_code == 0, result.output
    assert "  ok      " in result.output
    assert "0 of" in result.output


def test_each_broken_rule_is_told_with_its_reason(own: Path) -> None:
    unsorted = failures(run("faulty:Unsorted", "--json"))["retriever: best_first"]
    assert unsorted.startswith("not best first, equal scores by descending id: (")
    broken = failures(run("faulty:Strict", "--json"))
    assert broken["retriever: blank_finds_nothing"] == "KeyError: 'no words'"
    assert "retriever: best_first" not in broken
    shown = run("faulty:Strict").output
    assert "FAILED  blank finds nothing" in shown


def test_the_parts_plugged_into_a_pipeline_are_checked(own: Path) -> None:
    config = own / "own.yaml"
    config.write_text(
        "name: own\nretriever:\n  legs: {words: {type: bm25}}\n"
        "  stages: [{type: python, class: 'faulty:ReversingSettings', words: 1}]\n"
    )
    broken = failures(run(str(config), "--json"))
    assert "stage retriever.stages.0: best_first" in broken


class Service(BaseHTTPRequestHandler):
    """Finds the same document for any query, with or without words."""

    document = ""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"hits": [{"id": self.document, "score": 1}]}).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_service_is_asked_about_its_own_documents() -> None:
    Service.document = load("harbourline").documents[0].id
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    result = run(url, "dataset=harbourline", "--json")
    server.shutdown()
    assert list(failures(result)) == ["retriever: blank_finds_nothing"]
    rules = json.loads(result.stdout)["rules"]
    assert sum(rule["status"] == "skipped" for rule in rules) == 5


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("http://127.0.0.1:9/", "http://127.0.0.1:9/: query .*refused"),
        ("json:JSONDecoder", "no subclass of retrievers.base.Retriever"),
        ("examples.abbreviation_step:AbbreviationSettings", "words: missing"),
        ("nothing.yaml", "no such config"),
        ("nothing", "must be package.module:name"),
    ],
)
def test_what_cannot_be_checked_is_refused(what: str, words: str) -> None:
    error = run(what, "dataset=harbourline").exception if "http" in what else run(what).exception
    assert isinstance(error, AssayError)
    with pytest.raises(AssayError, match=words):
        raise error
