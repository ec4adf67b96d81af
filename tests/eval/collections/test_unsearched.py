"""Frontmatter that no retriever searches is told, and nothing judged lies there in silence."""

import json

import pytest
from click.testing import CliRunner
from tools.own_cache import make_cache

from assay.eval.cli.init import init
from assay.eval.collections.answer_spans import find_unsearched, is_unsearched
from assay.eval.collections.catalog import read_card
from assay.eval.collections.check import check
from assay.retrievers.base import Document
from assay.retrievers.documents.preparation import DocumentSettings, prepare
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

HEAD = "---\ntitle: Berths\nsummary: Berths of the north basin.\n---\n"
BERTHS = f"{HEAD}# Berths\n\nBerth 4 is closed in winter.\n"
RULES = "---\n\nOpening hours: from 9 to 5.\n\n---\n\n# Harbour\n\nThe crane lifts 40 tons.\n"
TEXTS = {
    "berths.md": BERTHS,
    "harbour.md": RULES,
    "berths.txt": BERTHS,
    "alone.md": HEAD,
    "draft.md": "---\ndraft: true\n---\n",
    "empty.md": "---\n---\nText.\n",
    "broken.md": "---\ntitle: [\n---\nText.\n",
    "list.md": "\ufeff---\n- a\n---\nText.\n",
    "mark.md": f"\ufeff{BERTHS}",
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_said_not_to_be_searched_is_what_is_not(name, tmp_path):
    document = Document(name, TEXTS[name])
    other = Document("other.md", "Other text.\n")
    chunks = prepare(
        [document, other], DocumentSettings(), Resources(Cache(make_cache(tmp_path)))
    ).chunks
    found = "".join(chunk.text for chunk in reversed(chunks) if chunk.doc_id == name)
    end = find_unsearched(document)
    lost = document.text[:end].split()
    assert bool(lost) == (name in ("berths.md", "draft.md", "mark.md"))
    for word in document.text[end:].replace("---", "").replace("\ufeff", "").split():
        assert word in found
    assert not lost or document.text[:end] not in found


def test_a_span_is_not_searched_where_most_of_it_is_not():
    document, end = Document("berths.md", BERTHS), len(HEAD)
    assert is_unsearched(document, 4, 10)
    assert is_unsearched(document, end - 5, end + 4)
    assert not is_unsearched(document, end - 5, end + 5)
    assert not is_unsearched(document, end, end + 5)


@pytest.fixture
def docs(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    for name in ("berths.md", "harbour.md", "broken.md"):
        (tmp_path / "docs" / name).write_text(TEXTS[name])
    (tmp_path / "q.csv").write_text(
        "question,quote\nWhen?,from 9 to 5\nWhich?,Berths of the north basin\nName?,Berths\n"
        "Four?,Berth 4 is closed in winter.\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_init_and_check_tell_what_is_not_searched(docs):
    made = CliRunner().invoke(init, ["docs", "--questions", "q.csv", "--json"])
    told = json.loads(made.stdout)
    unsearched = (
        'the frontmatter of one document is not searched (first: "berths.md"), unless a pipeline '
        "sets documents.frontmatter to text or chunk"
    )
    broken, first = told["notes"]
    assert first == unsearched
    assert broken.startswith("broken.md: frontmatter: line 3: not YAML")
    assert broken.endswith("; it is read as text")
    assert [row["why"] for row in told["unlocated"]] == [
        "the quote occurs in frontmatter alone (berths.md:3), which is not searched; quote text "
        "below it"
    ]
    assert told["judgments"] == 3
    shown = CliRunner().invoke(init, ["docs", "--questions", "q.csv", "--force"]).output
    assert unsearched in " ".join(shown.split())
    problems = check(read_card(docs / "datasets/docs/dataset.yaml"))
    assert [(item.severity, item.message) for item in problems if item.severity == "note"] == [
        ("note", unsearched)
    ]


def test_a_judgment_of_frontmatter_is_an_error(docs):
    CliRunner().invoke(init, ["docs"])
    folder = docs / "datasets/docs"
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "Which?"}\n')
    row = {"query_id": "q1", "path": "berths.md", "start": 4, "end": 17}
    (folder / "judgments.jsonl").write_text(json.dumps(row) + "\n")
    errors = [item for item in check(read_card(folder / "dataset.yaml")) if item.line]
    assert [(item.severity, item.line, item.message) for item in errors] == [
        (
            "error",
            1,
            'query "q1": the relevant span 4 to 17 of "berths.md" lies in its frontmatter, which '
            "is not searched; judge text below it, or remove the judgment",
        )
    ]
