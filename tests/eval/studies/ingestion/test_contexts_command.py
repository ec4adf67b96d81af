"""`assay contexts` on small collections, against a server on this machine."""

from pathlib import Path

import pytest
from doubles.language_model_server import KEY, LanguageModelServer
from tools.command_line import check_error, invoke
from tools.own_cache import make_cache
from tools.project_files import read_rows, write_native, write_rows

from assay.eval.collections.loading import load

ROOT = Path(__file__).parents[4]
PRICES = "1,1.25,0.1,5"
OTHER = "# Zoning\n\nLand use.\n\n## Appeal\n\nThe board.\n"
TEXT = "# Lease\n\nThe tenant pays rent.\n\n## Repairs\n\nThe landlord repairs the roof.\n"


def make_native(folder, card=""):
    documents = {"lease.md": TEXT, "zoning.md": OTHER}
    queries = [{"_id": "q", "text": "who repairs the roof"}]
    judgments = [{"query_id": "q", "path": "lease.md", "section": "Repairs"}]
    return write_native(folder, documents, queries, judgments, card)


def make_beir(folder):
    (folder / "qrels").mkdir(parents=True)
    rows = [
        {"_id": "a", "title": "A", "text": "Alpha one.", "metadata": {"doc_id": "d"}},
        {"_id": "b", "title": "", "text": "Beta two.", "metadata": {"doc_id": "d"}},
        {"_id": "c", "title": "", "text": "Gamma alone."},
    ]
    write_rows(folder / "corpus.jsonl", rows)
    write_rows(folder / "docs.jsonl", [{"_id": "d", "text": "Alpha one. Beta two. "}])
    write_rows(folder / "queries.jsonl", [{"_id": "q", "text": "beta"}])
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tb\t1\n")
    (folder / "dataset.yaml").write_text(
        f"name: {folder.name}\ntitle: T\nformat: beir\nwhole_documents: docs.jsonl\n"
        "contexts: contexts.jsonl\n"
    )
    return folder


@pytest.fixture
def server(tmp_path, monkeypatch):
    pytest.importorskip("anthropic", reason="needs the extra `anthropic`")
    monkeypatch.setenv("ASSAY_CACHE", str(make_cache(tmp_path)))
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(ROOT)
    with LanguageModelServer() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield server


def call(collection, *arguments):
    return invoke("contexts", collection, "--provider", "anthropic", *arguments)


@pytest.mark.slow
def test_a_native_collection_gets_spans_and_loads_them(server, tmp_path):
    folder = make_native(tmp_path / "law", "contexts: contexts.jsonl\n")
    result = call(folder, "--prices", PRICES, "--max-cost-usd", "1")
    assert result.exception is None, result.exception
    rows = read_rows(folder / "contexts.jsonl")
    assert [set(row) for row in rows] == [{"path", "start", "end", "context"}] * 4
    documents = {document.id: document for document in load(str(folder)).documents}
    texts = [item.text for item in documents["lease.md"].contexts]
    assert texts == ["About #.", "About ##."]
    span = documents["lease.md"].contexts[1]
    assert TEXT[span.start : span.end] == "## Repairs\n\nThe landlord repairs the roof."
    assert "law: 4 chunks, 0 known, 4 to ask anthropic claude-haiku-5-5" in result.stdout
    assert "4 of 4 chunks have contexts" in result.stdout
    assert "sent: 4 calls, " in result.stdout
    assert "of 1.0000 USD" in result.stdout
    assert result.stdout.splitlines()[-1].endswith(
        f"assay run contextual dataset={folder} documents.context.source=collection"
    )


def test_a_beir_collection_gets_a_row_a_passage(server, tmp_path):
    folder = make_beir(tmp_path / "abc")
    assert call(folder).exception is None
    rows = read_rows(folder / "contexts.jsonl")
    assert {row["_id"]: row["context"] for row in rows} == {
        "a": "About A.",
        "b": "About Beta.",
        "c": "About Gamma.",
    }
    found = {item.text for doc in load(str(folder)).documents for item in doc.contexts}
    assert len(found) == 3
    pairs = dict(sorted((chunk, document) for document, chunk in server.answered))
    assert pairs["A\nAlpha one."] == "Alpha one. Beta two. "


def test_an_existing_file_is_replaced_only_when_it_is_named(server, tmp_path):
    folder = make_beir(tmp_path / "abc")
    place = folder / "contexts.jsonl"
    place.write_text("mine\n")
    check_error(call(folder), str(place), "is there already", "--output")
    assert not server.calls
    assert place.read_text() == "mine\n"
    assert call(folder, "--output", str(place)).exception is None
    assert "About" in place.read_text()
    assert call(folder).exception is None  # the same content


def test_a_wrong_option_is_one_line(server, tmp_path):
    folder = make_native(tmp_path / "law")
    for words, *told in (
        ("--prices 1,2,3", "--prices", "not four prices"),
        ("--prices 1,2,3,-4", "--prices", "not four prices"),
        ("--max-cost-usd 1", "prices are not known", "--prices"),
        ("--max-cost-usd -1", "--max-cost-usd", "greater than or equal to 0"),
        ("--concurrency 0", "--concurrency", "greater than or equal to 1"),
        ("--max-tokens 0", "--max-tokens"),
        ("--base-url https://user:pass@host", "base_url", "keys come from the environment"),
        ("--output /nowhere/at/all.jsonl", "/nowhere/at/all.jsonl", "cannot be written"),
        ("--config configs/none.yaml", "configs/none.yaml", "no such config"),
    ):
        check_error(call(folder, *words.split()), *told)
    assert not server.calls


def test_formats_without_contexts_are_refused(server, tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    card = "name: set\ntitle: T\nformat: irds\nlocation: irds:some/set\n"
    (folder / "dataset.yaml").write_text(card)
    check_error(call(folder), "the format irds has no contexts", "beir, native")
    config = tmp_path / "config.yaml"
    base = f"base: {ROOT}/configs/contextual.yaml\nname: mine\n"
    config.write_text(f"{base}documents: {{passages: false}}\n")
    beir = make_beir(tmp_path / "abc")
    check_error(call(beir, "--config", str(config)), "documents.passages: must be true")
