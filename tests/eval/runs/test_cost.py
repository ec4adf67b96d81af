"""What a run costs: from the calls it makes to its table, its report, JSON and MLflow."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from doubles.language_model_server import KEY, LanguageModelServer, Say
from doubles.model_server import ModelServer
from samples.small_project import QUERIES, write_project

from assay.eval.cli.main import assay
from assay.eval.cli.run import print_summary
from assay.eval.configs.config import RunConfig
from assay.eval.report.run_page import page as report
from assay.eval.running.figures import Figures
from assay.eval.running.run import make_run
from assay.eval.runs.json_form import to_json
from assay.eval.runs.summary.cost import dollars, tell_queries
from assay.eval.runs.summary.summary import summarise
from assay.eval.tracking.record import describe
from assay.retrievers.base import Quiet


@pytest.fixture
def server(tmp_path, monkeypatch):
    write_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MY_KEY", KEY)
    with ModelServer() as found:
        yield found


def make_config(server, **prices):
    def choose(type_, price):
        given = {"price_usd": prices[price]} if price in prices else {}
        where = {"url": f"{server.url}/{type_}", "key_variable": "MY_KEY"}
        return {"type": type_, "model": "some", **where, **given}

    retriever = {
        "legs": {"dense": {"type": "dense", "encoder": choose("openai", "encoder")}},
        "stages": [{"type": "rerank", "depth": 3, "model": choose("cohere", "reranker")}],
    }
    return RunConfig.model_validate(
        {
            "name": "served",
            "dataset": "datasets/mine",
            "latency": {"queries": 0},
            "retriever": retriever,
        }
    )


def run(config, rerun=False):
    return summarise(make_run(config, rerun, Quiet()).run)


def test_a_run_tells_what_it_costs_whether_scores_are_kept_or_new(server, capsys):
    config = make_config(server, encoder=1.0, reranker=2.0)
    first, second = run(config), run(config, rerun=True)
    assert first.cost == second.cost
    # A query is a word, which the server counts as 2 tokens, and one search.
    assert first.cost.queries == pytest.approx(1000 * 2e-6 + 2.0)
    bill = first.run.manifest.index.facts["billed"]["dense"]
    assert first.cost.index == pytest.approx(bill["tokens"] * 1e-6)
    passages = next(call for call in server.calls if "input" in call.body)
    assert bill["tokens"] == sum(len(text.split()) + 1 for text in passages.body["input"])
    print_summary(first)
    shown = capsys.readouterr().out
    assert "USD per 1,000 queries" in shown
    assert "2.00" in shown
    assert to_json(first)["cost"]["unpriced"] == []
    page = report.write(first)
    assert "<dt>USD per 1,000 queries</dt><dd>2.00</dd>" in page.read_text()
    assert "| USD per 1,000 queries | 2.00 |" in page.with_suffix(".md").read_text()
    record = describe(first)
    assert record.metrics["cost/usd_per_1000_queries"] == pytest.approx(2.002)
    assert KEY not in "".join(
        path.read_text(errors="replace") for path in first.run.folder.rglob("*") if path.is_file()
    )


def test_where_no_price_is_known_no_figure_is_given(server, capsys):
    summary = run(make_config(server, encoder=1.0))
    assert summary.cost.queries is None
    assert summary.cost.unpriced == ("rerank",)
    print_summary(summary)
    shown = capsys.readouterr().out
    assert "No price known of" in shown
    assert "USD per 1,000 queries" not in shown
    assert "cost/usd_per_1000_queries" not in describe(summary).metrics


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (2.0, "2.00"), (0.0122, "0.0122"), (0.00038, "0.000380")]
)
def test_dollars_have_three_digits(value, text):
    assert dollars(value) == text


def test_compare_tells_both_costs(server):
    served = run(make_config(server, encoder=1.0, reranker=2.0)).run.folder
    words = {"legs": {"words": {"type": "bm25"}}}
    plain = {"name": "words", "dataset": "datasets/mine", "latency": {"queries": 0}}
    here = run(RunConfig.model_validate({**plain, "retriever": words})).run.folder
    called = CliRunner().invoke(assay, ["compare", str(served), str(here), "--no-track"])
    assert called.exit_code == 0, called.output
    assert "USD per 1,000 queries: 2.00 → 0" in called.output
    (page,) = Path().glob("reports/compare-*/report.html")
    assert "USD per 1,000 queries: 2.00 → 0." in page.read_text()
    assert "| USD per 1,000 queries | 2.00 → 0 |" in page.with_suffix(".md").read_text()


def test_a_language_model_that_writes_about_queries_is_priced(server, monkeypatch):
    pytest.importorskip("openai", reason="needs the extra `openai`")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    config = make_config(server, encoder=1.0)
    with LanguageModelServer(lambda call: Say("<passage>a passage</passage>")) as writer:
        model = {"type": "openai", "model": "m", "base_url": writer.url}
        prices = dict.fromkeys(("input", "cache_write", "cache_read", "output"), 1.0)
        steps = [
            {"type": "hyde", "model": model, "prices": prices},
            {"type": "multi_query", "model": model, "prices": prices},
        ]
        legs = config.model_dump(mode="json", exclude_unset=True)["retriever"]["legs"]
        values = config.model_dump(exclude={"retriever"})
        asked = RunConfig.model_validate({**values, "retriever": {"query": steps, "legs": legs}})
        summary = run(asked)
        assert len(writer.calls) == 2 * len(QUERIES)
        rerun = run(asked, rerun=True)
        assert len(writer.calls) == 2 * len(QUERIES), "answers are kept"
    tokens = sum(
        len(text.encode()) // 4 for call in writer.calls for text in call.texts
    ) + 10 * len(writer.calls)
    assert summary.cost == rerun.cost
    assert summary.cost.queries is not None
    assert summary.cost.queries > 1000 * tokens / 1e6 / len(QUERIES)


def test_a_sweep_tells_costs_where_there_are_any(server):
    figures = Figures.of(run(make_config(server, encoder=1.0, reranker=2.0)))
    unknown = Figures.of(run(make_config(server, encoder=1.0)))
    assert (tell_queries(figures.cost), tell_queries(unknown.cost)) == ("2.00", "unknown")
    assert (figures.usd, unknown.usd) == (pytest.approx(2.002), None)
    assert (tell_queries(None), replace(figures, cost=None).usd) == ("0", 0)
