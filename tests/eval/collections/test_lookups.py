"""`assay dataset derive`: a collection that loads, checks clean and is made again the same."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tools.processes import ROOT

from assay.eval.cli.dataset import dataset
from assay.eval.collections import check, find_card, load
from assay.eval.collections.authoring.known_item_collections import make_off_topic, read_origins
from assay.retrievers.base import AssayError

DOCUMENT = "---\ntitle: Setup Guide\n---\n# Setup\n\nCall `getToken`.\n"


def find_faults(card: Any) -> list[Any]:
    """Return what a check finds but for notes: documents may have frontmatter."""
    return [problem for problem in check(card) if problem.severity != "note"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pages/sub").mkdir(parents=True)
    (tmp_path / "pages/guide.md").write_text(DOCUMENT)
    (tmp_path / "pages/sub/other.txt").write_text("# No heading, since this is plain text.\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(dataset, ["derive", *arguments], catch_exceptions=False)


def refuse(*arguments: str) -> str:
    with pytest.raises(AssayError) as caught:
        run(*arguments)
    return str(caught.value)


def read(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_the_lookups_of_the_project_are_those_of_its_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ROOT / "datasets/harbourline_lookups"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "datasets").mkdir()
    run("harbourline", "--output", "datasets/harbourline_lookups")
    assert read(tmp_path / "datasets/harbourline_lookups") == read(kept)


def test_the_lookups_of_the_project_are_sound() -> None:
    assert find_faults(find_card(str(ROOT / "datasets/harbourline_lookups"))) == []


def test_queries_of_other_collections_have_no_answer(here: Path) -> None:
    make_off_topic(read_origins("pages"), ["harbourline", "town_notices"], Path("off"))
    card = find_card("off")
    assert find_faults(card) == []
    made = load("off")
    others = {name: load(name) for name in ("harbourline", "town_notices")}
    assert {query.id: query.text for query in made.queries} == {
        f"{name}-{query.id}": query.text for name, of in others.items() for query in of.queries
    }
    assert {item.grade for items in made.gold.values() for item in items} == {0}
    assert {document.id for document in made.documents} == {"guide.md", "sub/other.txt"}


def test_a_folder_becomes_a_collection(here: Path) -> None:
    made: dict[str, Any] = json.loads(run("pages", "--output", "out/lookups", "--json").stdout)
    assert made["queries"] == {"title": 1, "heading": 1, "identifier": 1}
    assert (made["documents"], made["copies"]) == (4, 2)
    card = find_card("out/lookups")
    collection = load("out/lookups")
    assert card.name == "lookups"
    assert find_faults(card) == []
    assert [(query.id, query.text) for query in collection.queries] == [
        ("title-1", "Setup Guide"),
        ("heading-1", "Setup"),
        ("identifier-1", "getToken"),
    ]
    assert "no retrieval system was run" in " ".join(card.description.split())


def test_some_kinds_and_no_duplicates(here: Path) -> None:
    run("pages", "--output", "out", "--kinds", "identifier, title")
    assert {query.type for query in load("./out").queries} == {"title", "identifier"}
    assert sorted(read(here / "out/docs")) == ["guide.md", "sub/other.txt"]
    assert "--kinds title,identifier" in (here / "out/dataset.yaml").read_text()
    assert find_faults(find_card("./out")) == []


def test_a_copy_that_the_card_declares_is_no_second_document(here: Path) -> None:
    (here / "kept/docs").mkdir(parents=True)
    for name in ("guide.md", "old.md", "older.md"):
        (here / "kept/docs" / name).write_text(DOCUMENT)
    card = "name: kept\ntitle: Kept\nformat: native\nlocation: .\ndocuments: docs\n"
    (here / "kept/dataset.yaml").write_text(card + "copies: {old.md: guide.md, gone.md: old.md}\n")
    (here / "kept/queries.jsonl").write_text('{"_id": "q", "text": "token?"}\n')
    (here / "kept/judgments.jsonl").write_text('{"query_id": "q", "path": "guide.md"}\n')
    refused = refuse("kept", "--output", "out", "--kinds", "title")
    assert "gives no queries" in refused  # older.md bears the same title, and is not declared
    (here / "kept/docs/older.md").unlink()
    run("kept", "--output", "out", "--kinds", "title,duplicate")
    assert [query.text for query in load("./out").queries] == ["Setup Guide"]
    same = ("old.md", "copies/exact/guide.md", "copies/edited/old.md")  # nothing there to edit
    assert find_card("./out").copies == dict.fromkeys(same, "guide.md")
    assert find_faults(find_card("./out")) == []


def test_passages_become_documents(here: Path) -> None:
    (here / "beir/qrels").mkdir(parents=True)
    (here / "beir/corpus.jsonl").write_text('{"_id": "p1", "title": "", "text": "# Alpha\\nX."}\n')
    (here / "beir/queries.jsonl").write_text('{"_id": "q", "text": "x"}\n')
    (here / "beir/qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tp1\t1\n")
    run("beir", "--output", "out", "--kinds", "title")
    assert [query.text for query in load("./out").queries] == ["Alpha"]
    assert sorted(read(here / "out/docs")) == ["p1.md"]


def test_what_is_there_stays_unless_forced(here: Path) -> None:
    run("pages", "--output", "out")
    before = read(here / "out")
    assert "is there already; --force overwrites it" in refuse("pages", "--output", "out")
    assert read(here / "out") == before
    (here / "pages/guide.md").unlink()
    (here / "pages/new.md").write_text(DOCUMENT)
    run("pages", "--output", "out", "--force")
    assert "docs/guide.md" not in read(here / "out")


def test_a_refusal_writes_nothing(here: Path) -> None:
    assert "--kinds: 'titles': allowed: title" in refuse(
        "pages", "--output", "out", "--kinds", "titles"
    )
    assert "gives no queries" in refuse("pages", "--output", "out", "--kinds", "keyword")
    assert "written among the documents" in refuse("pages", "--output", "pages")
    assert "name" in refuse("pages", "--output", "bad name")
    assert "there is no such collection" in refuse("nowhere", "--output", "out")
    assert sorted(path.name for path in here.iterdir()) == ["pages"]
    assert sorted(read(here / "pages")) == ["guide.md", "sub/other.txt"]
