"""`assay check`: somebody's own retriever or part is put to the rules, one by one."""

import json
import sys

import pytest
from click.testing import CliRunner
from tools.http_services import serving

from assay.eval.cli.check import check
from assay.eval.collections.loading import load
from assay.retrievers.base import AssayError
from assay.retrievers.conformance_sample import ODD_QUERIES

MODULE = """
from dataclasses import replace

from examples.minimum_stage import Minimum, MinimumSettings
from examples.word_overlap import WordOverlap


class Unsorted(WordOverlap):
    def search(self, query, k):
        found = super().search(query, k)
        return replace(found, hits=found.hits[::-1])


class Pairs(WordOverlap):
    def search(self, query, k):
        return [(hit.chunk.id, hit.score) for hit in super().search(query, k).hits]


class Numbers(WordOverlap):
    def search(self, query, k):
        return [3.5]


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
    def build(self, resources):
        return Reversing(self.words)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with a module of somebody's own."""
    (tmp_path / "faulty.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ASSAY_TRUST", "1")
    yield tmp_path
    sys.modules.pop("faulty", None)


def run(*arguments):
    return CliRunner().invoke(check, arguments)


def failures(result):
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
def test_the_examples_keep_every_rule(what):
    result = run(*what)
    assert result.exit_code == 0, result.output
    assert "  ok      " in result.output
    assert "0 of" in result.output


def test_each_broken_rule_is_told_with_its_reason_and_unread_answers_once(own):
    unsorted = failures(run("faulty:Unsorted", "--json"))["retriever: best_first"]
    assert "?': not best first: a score is higher than the one before it: [0." in unsorted
    broken = failures(run("faulty:Strict", "--json"))
    assert broken["retriever: blank_finds_nothing"] == "KeyError: 'no words'"
    assert "retriever: best_first" not in broken
    shown = run("faulty:Strict").output
    assert "FAILED  blank finds nothing" in shown
    result = run("faulty:Numbers", "--json")
    ((rule, why),) = failures(result).items()
    assert rule == "retriever: answers_in_form"
    assert "3.5 is no hit; allowed: (id, score), " in why
    others = [row for row in json.loads(result.stdout)["rules"] if row["status"] != "failed"]
    assert {row["why"] for row in others} == {"its answers cannot be read"}


def test_the_parts_plugged_into_a_pipeline_are_checked(own):
    config = own / "own.yaml"
    config.write_text(
        "name: own\nretriever:\n  legs: {words: {type: bm25}}\n"
        "  stages: [{type: python, class: 'faulty:ReversingSettings', words: 1}]\n"
    )
    broken = failures(run(str(config), "--json"))
    assert "stage retriever.stages.0: best_first" in broken


def find(documents, query, k):
    """Return documents by their order, all equally good."""
    return documents[:k] if query.strip() else []


def find_for_blank(documents, query, k):
    return documents[:k]


def find_backwards_if_few(documents, query, k):
    found = find(documents, query, k)
    return found[::-1] if k < 3 else found


@pytest.mark.parametrize(
    ("finds", "broken"),
    [
        (find, None),
        (find_for_blank, "blank_finds_nothing"),
        (find_backwards_if_few, "smaller_k_is_a_prefix"),
    ],
)
def test_a_service_is_blamed_for_its_own_faults_alone(finds, broken):
    """It is asked the queries of its collection; a rule that is broken names one of these."""
    collection, asked = load("harbourline"), set()
    documents = [document.id for document in collection.documents[:5]]

    def answer(body, _):
        asked.add(body["query"])
        return {"hits": [{"id": id_, "score": 1} for id_ in finds(documents, **body)]}

    with serving(answer) as url:
        result = run(url, "dataset=harbourline", "--json")
    rules = json.loads(result.stdout)["rules"]
    assert sum(rule["status"] == "skipped" for rule in rules) == 5
    failed = {rule["rule"]: rule["why"] for rule in rules if rule["status"] == "failed"}
    assert list(failed) == [broken] * bool(broken)
    for why in failed.values():
        assert any(why.startswith(repr(query)) for query in asked), why
    # The rest are the odd and blank ones that any retriever is asked.
    texts = {query.text for query in collection.queries}
    assert asked - texts <= {*ODD_QUERIES, "", " \n\t"}


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("http://127.0.0.1:9/", "http://127.0.0.1:9/: query .*refused"),
        ("json:JSONDecoder", "no subclass of assay.retrievers.base.Retriever"),
        ("examples.abbreviation_step:AbbreviationSettings", "words: missing"),
        ("nothing.yaml", "no such config"),
        ("nothing", "must be package.module:name"),
    ],
)
def test_what_cannot_be_checked_is_refused(what, words):
    error = run(what, "dataset=harbourline").exception if "http" in what else run(what).exception
    assert isinstance(error, AssayError)
    with pytest.raises(AssayError, match=words):
        raise error
