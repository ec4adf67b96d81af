"""What a run costs: from the calls it makes to its table, its report, JSON and MLflow."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

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
from assay.eval.runs.summary.cost import dollars, tell_queries
from assay.eval.runs.summary.summary import summarise
from assay.eval.studies.ingestion.dry_run import estimate_run
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
    def choose(type_: str, price: str) -> dict[str, Any]:
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
    assert first.cost is not None
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
    assert first.as_json()["cost"]["unpriced"] == []
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
    assert summary.cost is not None
    assert summary.cost.queries is None
    assert summary.cost.unpriced == ("rerank",)
    print_summary(summary)
    shown = capsys.readouterr().out
    assert "No price known of" in shown
    assert "USD per 1,000 queries" not in shown
    assert "cost/usd_per_1000_queries" not in describe(summary).metrics


def test_what_runs_here_has_no_cost(server):
    words = {"legs": {"words": {"type": "bm25"}}}
    plain = {"name": "words", "dataset": "datasets/mine", "latency": {"queries": 0}}
    summary = run(RunConfig.model_validate({**plain, "retriever": words}))
    assert summary.cost is None
    assert summary.as_json()["cost"] is None


def test_a_dry_run_asks_nothing_and_comes_near(server):
    config = make_config(server, encoder=1.0, reranker=2.0)
    found = estimate_run(config, Quiet())
    assert not server.calls
    assert (found.chunks, found.searches) == (len(QUERIES), len(QUERIES))
    chunks, queries, searches = found.items
    assert chunks.units > 0
    assert searches.units == len(QUERIES)
    assert searches.usd == pytest.approx(0.012)
    summary = run(config)
    assert summary.cost is not None
    assert summary.cost.index is not None
    assert chunks.usd == pytest.approx(summary.cost.index, rel=1.0)
    rerun = estimate_run(config, Quiet())
    assert rerun.items[0].units == 0
    assert rerun.items[1:] == (queries, searches)
    assert found.usd is not None
    assert estimate_run(make_config(server, encoder=1.0), Quiet()).usd is None


def test_a_dry_run_prices_what_expands_queries(server):
    where = {"url": f"{server.url}/openai", "key_variable": "MY_KEY", "price_usd": 1.0}
    encoder = {"type": "openai", "model": "some", "query_prefix": "a long prefix: ", **where}
    retriever = {
        "query": [{"type": "expand", "encoder": encoder}],
        "legs": {"dense": {"type": "dense", "encoder": encoder}},
    }
    values = make_config(server).model_dump(exclude={"retriever"})
    config = RunConfig.model_validate({**values, "retriever": retriever})
    chunks, queries, terms, expanded = estimate_run(config, Quiet()).items
    assert [each.part for each in (chunks, terms)] == ["legs.dense", "query.expand"]
    # 15 bytes of prefix and 5 of query, three a token.
    assert queries.units == expanded.units == 7 * len(QUERIES)
    run(config)
    passages = [text for text in server.asked if not text.startswith("a long prefix: ")]
    assert terms.what == f"{len(passages) - len(QUERIES)} terms not embedded before"


def test_a_dry_run_states_how_often_a_language_model_is_asked(server):
    values = make_config(server).model_dump(exclude={"retriever"})
    where = {"type": "openai", "model": "some", "base_url": f"{server.url}/v1"}
    stage = {"type": "rerank", "depth": 3, "model": {"type": "llm", "model": where}}
    retriever = {"legs": {"words": {"type": "bm25"}}, "stages": [stage]}
    config = RunConfig.model_validate({**values, "retriever": retriever})
    (item,) = estimate_run(config, Quiet()).items
    assert item.what.endswith("searches, by 1 calls at most")
    assert item.units > 0
    assert not server.calls


def test_the_dry_run_of_the_command_line(server, tmp_path):
    config = make_config(server, encoder=1.0).model_dump(mode="json", exclude_none=True)
    (tmp_path / "served.json.yaml").write_text(json.dumps(config))
    called = CliRunner().invoke(assay, ["run", "served.json.yaml", "--dry-run"])
    assert called.exit_code == 0, called.output
    assert "no price known" in called.output
    assert not server.calls


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


def test_a_sweep_tells_costs_where_there_are_any(server):
    figures = Figures.of(run(make_config(server, encoder=1.0, reranker=2.0)))
    unknown = Figures.of(run(make_config(server, encoder=1.0)))
    assert (tell_queries(figures.cost), tell_queries(unknown.cost)) == ("2.00", "unknown")
    assert (figures.usd, unknown.usd) == (pytest.approx(2.002), None)
    assert (tell_queries(None), replace(figures, cost=None).usd) == ("0", 0)


def test_a_language_model_that_writes_about_queries_is_priced(server, monkeypatch):
    pytest.importorskip("openai", reason="needs the extra `openai`")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    config = make_config(server, encoder=1.0)
    plain = estimate_run(config, Quiet()).items[1]
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
        hyde, others, _, queries = estimate_run(asked, Quiet()).items
        assert [hyde.part, others.part] == ["query.hyde", "query.multi_query"]
        assert hyde.what == others.what == f"{len(QUERIES)} calls"
        assert queries.units > 4 * plain.units, "each wording and each passage is embedded"
        assert not writer.calls
        summary = run(asked)
        assert len(writer.calls) == 2 * len(QUERIES)
        rerun = run(asked, rerun=True)
        assert len(writer.calls) == 2 * len(QUERIES), "answers are kept"
    tokens = sum(
        len(text.encode()) // 4 for call in writer.calls for text in call.texts
    ) + 10 * len(writer.calls)
    assert summary.cost is not None
    assert summary.cost == rerun.cost
    assert summary.cost.queries is not None
    assert summary.cost.queries > 1000 * tokens / 1e6 / len(QUERIES)
    assert (hyde.usd or 0) + (others.usd or 0) > tokens / 1e6, "answers of the longest form"
