"""`assay choose` with contexts by a language model: a server on this machine that counts calls."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from doubles.language_model_server import KEY, LanguageModelServer
from tools.own_cache import make_cache

from assay.eval.cli.main import assay

ROOT = Path(__file__).parents[4]
PRICES = ("--prices", "1,1.25,0.1,5")


@pytest.fixture
def server(tmp_path, monkeypatch):
    pytest.importorskip("anthropic", reason="needs the extra `anthropic`")
    monkeypatch.setenv("ASSAY_CACHE", str(make_cache(tmp_path)))
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.chdir(ROOT)
    with LanguageModelServer() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield server


def make_folder(folder):
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "lease.md").write_text("# Lease\n\nRent is due.\n\n## Roof\n\nRepair it.\n")
    (folder / "docs" / "zoning.md").write_text("# Zoning\n\nLand.\n\n## Appeal\n\nThe board.\n")
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "who repairs the roof"}\n')
    judged = {"query_id": "q", "path": "lease.md", "section": "Roof"}
    (folder / "judgments.jsonl").write_text(json.dumps(judged) + "\n")
    (folder / "dataset.yaml").write_text("name: law\ntitle: Law\nformat: native\n")
    return folder


def call(folder, *words):
    given = [str(folder), "latency.queries=0", "--budget", "1h", "--json", *words]
    return CliRunner().invoke(assay, ["choose", *given])


def list_written(found):
    return [item for item in found["trials"] if "written by" in " ".join(item["steps"])]


def test_contexts_within_the_limit_are_written_and_tried(server, tmp_path):
    folder = make_folder(tmp_path / "law")
    asked = ("--provider", "anthropic", *PRICES, "--max-cost-usd")
    dear = call(folder, *asked, "0.0001")
    assert dear.exception is None, dear.exception
    (left,) = list_written(json.loads(dear.stdout))
    assert left["mean"] is None
    assert left["left_out"].startswith("not tried: about 0.00")
    assert left["left_out"].endswith("; 0.0001 USD are allowed")
    assert not server.calls
    assert not (folder / "contexts.jsonl").exists()

    result = call(folder, *asked, "1")
    assert "contexts of 4 chunks: about 0.00" in result.stderr
    assert (folder / "dataset.yaml").read_text().endswith("native\ncontexts: contexts.jsonl\n")
    found = json.loads(result.stdout)
    assert len(server.calls) == 4
    assert found["contexts_usd"] > 0
    spent = f"Writing contexts cost {found['contexts_usd']:.4f} USD, once"
    assert spent in found["conclusion"]
    assert spent in Path(found["report"]).read_text()
    tried = [item for item in found["trials"] if item["steps"] == ["context collection"]]
    assert [item["mean"] is not None for item in tried] == [True]

    again = call(folder, *asked, "1")
    assert "has contexts, so none are written" in again.stderr
    assert len(server.calls) == 4


def test_a_card_that_takes_no_line_is_told_before_anything_is_paid(server, tmp_path):
    folder = make_folder(tmp_path / "law")
    card = "{name: law, title: Law, format: native}\n"
    (folder / "dataset.yaml").write_text(card)
    result = call(folder, "--provider", "anthropic", *PRICES, "--max-cost-usd", "1")
    told = f"{folder}/dataset.yaml: name the contexts in it (contexts: contexts.jsonl), by which"
    assert str(result.exception).startswith(told)
    assert not server.calls
    assert (folder / "dataset.yaml").read_text() == card


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--max-cost-usd", "1"), "--max-cost-usd: only with --provider"),
        (("--provider", "anthropic"), "--provider: needs --max-cost-usd"),
    ],
)
def test_a_model_and_its_limit_belong_together(words, told):
    result = CliRunner().invoke(assay, ["choose", "harbourline", *words])
    assert result.exit_code == 2
    assert told in result.stderr
