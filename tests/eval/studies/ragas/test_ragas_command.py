"""`assay ragas` with a judge on a server of this machine. No provider's own service is called."""

import json
import re
from importlib.util import find_spec

import pytest
from click.testing import CliRunner
from doubles.language_model_server import KEY, LanguageModelServer, Say
from samples.scripted_judge import CALLS, HITS, MEANS, QUERIES, TEXT, judge, make_judged
from tools.own_cache import make_cache

from assay.eval.cli.main import assay
from assay.retrievers.base import AssayError

pytestmark = pytest.mark.skipif(
    not (find_spec("ragas") and find_spec("openai")), reason="needs the extra `ragas`"
)


@pytest.fixture(autouse=True)
def reports(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))
    monkeypatch.setenv("ASSAY_CACHE", str(make_cache(tmp_path)))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return tmp_path / "reports"


@pytest.fixture
def server(monkeypatch):
    with LanguageModelServer(judge) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        yield server


def call(*arguments):
    done = CliRunner().invoke(assay, ["ragas", "judged", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert KEY not in done.output
    return done.stdout


def call_json(*arguments):
    return json.loads(call("--provider", "openai", "--json", *arguments))


def metrics(found):
    return {row["metric"]: row for row in found["runs"][0]["metrics"]}


def test_every_metric_with_its_answers_paid_for_once(reports, server, monkeypatch):
    run = make_judged(reports)
    estimated = call_json("--dry-run", "--prices", "1,1.25,0.1,5")
    assert not server.calls
    assert estimated["to_ask"] == QUERIES * sum(CALLS.values())
    assert 0 < estimated["estimate"]["usd"] < estimated["estimate"]["worst_usd"]
    found = call_json("--prices", "1,1.25,0.1,5", "--max-cost-usd", "5")
    rows = metrics(found)
    assert list(rows) == [*TEXT, *MEANS]
    for name, mean in MEANS.items():
        assert rows[name]["mean"]["value"] == pytest.approx(mean), name
        assert rows[name]["mean"]["n"] == QUERIES
    assert len(server.calls) == estimated["to_ask"] == found["asked"]["run"]["calls"]
    assert found["asked"]["run"]["usd"] < 5
    kept = json.loads((run.folder / "ragas.json").read_text())
    assert (kept["judge"], kept["k"], kept["queries"]) == ("openai gpt-6-luna", HITS, QUERIES)
    assert {row["metric"]: row for row in kept["metrics"]} == rows
    # What is known needs no call and no key, and gives the same.
    monkeypatch.setenv("OPENAI_API_KEY", "")
    again = call_json()
    assert metrics(again) == rows
    assert again["asked"] is None
    narrower = "ragas judged --provider openai --metrics ContextRelevance,Faithfulness"
    done = CliRunner().invoke(assay, narrower.split(), catch_exceptions=False)
    assert re.search(rf"replaced: .*ragas\.json had .* of {QUERIES} queries judged by", done.stderr)
    shown = done.stdout
    assert "judged by openai gpt-6-luna" in shown
    assert "Hit@5" in shown
    assert len(server.calls) == estimated["to_ask"]


def test_unreadable_judgments_are_told_and_are_no_zeros(reports, server):
    make_judged(reports)
    server.react = lambda _: Say("I would rather talk about the sea.")
    options = ("--provider", "openai", "--metrics", "ContextRelevance")
    why = "a reply of the model was not the required JSON"
    row = metrics(json.loads(call(*options, "--json")))["ContextRelevance"]
    assert (row["mean"], row["queries"], row["missing"]) == (None, {}, {why: QUERIES})
    assert re.search(rf"ContextRelevance +{QUERIES} +{why}", call(*options))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metrics", "nDCG@10"], "'nDCG@10' is not one of ragas'"),
        (["--metrics", "Faithfulness"], "give --provider"),
        (["--model", "x"], "--model: only with --provider"),
        (["--dry-run"], "--dry-run: only with --provider"),
        (["--provider", "openai"], "OPENAI_API_KEY: not set"),
        (["--provider", "openai", "--timeout-seconds", "0"], "--timeout-seconds: "),
    ],
)
def test_bad_input_is_one_line(arguments, message, reports, monkeypatch):
    make_judged(reports)
    monkeypatch.setenv("OPENAI_API_KEY", "")
    done = CliRunner().invoke(assay, ["ragas", "judged", *arguments])
    told = str(done.exception) if isinstance(done.exception, AssayError) else done.stderr
    assert done.exit_code in (1, 2)
    assert message in told.splitlines()[-1]
