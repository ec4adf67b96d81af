"""All configs, end to end, on a small collection; one of them on the default collection, and on a
real one where it is present. The others are run on that by `make test-slow`."""

import json
import os
from pathlib import Path

import pytest
from tools.processes import ROOT

pytestmark = pytest.mark.slow

SLOW = ("semantic", "native_hybrid", "hybrid", "hybrid_rrf", "contextual", "reranked")  # if large
CONFIGS = ("semantic", "bm25", "native_hybrid", "hybrid", "hybrid_rrf", "contextual", "reranked")
DESIGNS = ("combine_split", "hierarchical_document", "markdown_ragdocs")
KEYS = {
    "run", "config", "collection", "queries", "measures", "latency_ms", "stages_ms", "report",
    "mlflow_run",
}  # fmt: skip


def check_run(result, queries):
    """What holds of any finished run."""
    import ir_measures

    assert result.keys() >= KEYS
    assert result["queries"] == queries
    for name, figures in result["measures"].items():
        assert figures["low"] <= figures["mean"] <= figures["high"], name
    assert 0 < result["latency_ms"]["p50"] <= result["latency_ms"]["p95"]
    assert result["mlflow_run"]
    folder = Path(result["report"]).parent
    run = list(ir_measures.read_trec_run(str(folder / "run.trec")))
    qrels = list(ir_measures.read_trec_qrels(str(folder / "qrels.trec")))
    of_hits = ("Recall@", "Tokens", "Judged")
    measures = {
        name: ir_measures.parse_measure(standard)
        for name, standard in result["ir_measures"].items()
        if not name.startswith(of_hits)
    }
    by_hand = ir_measures.calc_aggregate(measures.values(), qrels, run)
    for name, measure in measures.items():
        assert result["measures"][name]["mean"] == pytest.approx(by_hand[measure], abs=1e-12), name
    ranks = [int(line.split()[3]) for line in (folder / "run.trec").read_text().splitlines()]
    for name in ("Recall@1", "Recall@5", "Recall@10", "Recall@20"):
        above = [
            row for row, rank in zip(run, ranks, strict=True) if rank <= int(name.partition("@")[2])
        ]
        (recall,) = ir_measures.calc_aggregate([ir_measures.R @ 1000], qrels, above).values()
        assert result["measures"][name]["mean"] == pytest.approx(recall, abs=1e-12), name


def check_exports(assay_json, result):
    """The exported files give every figure again."""
    checks = assay_json("verify", result["run"])["measures"]
    assert checks.keys() == result["measures"].keys()
    for name, check in checks.items():
        assert check["verdict"] == "identical", name
        assert check["recomputed"] == pytest.approx(result["measures"][name]["mean"], abs=1e-9)


@pytest.mark.parametrize("config", CONFIGS)
def test_a_small_collection(assay_json, config):
    limit, timed = (5, 1) if config == "reranked" else (30, 5)  # 24 pairs a query are read
    result = assay_json(
        "run", f"configs/{config}.yaml", f"limit={limit}", f"latency.queries={timed}"
    )
    check_run(result, queries=limit)
    check_exports(assay_json, result)
    assert result["measures"]["nDCG@10"]["mean"] > 0.3, "far below any sound pipeline"
    facts = json.loads((Path(result["report"]).parent / "manifest.json").read_text())["facts"]
    assert config != "contextual" or facts["context_source"] == "auto"


def test_no_config_is_left_out():
    others = {"gate", "published", "targets"}
    names = {path.stem for path in (ROOT / "configs").glob("*.yaml")} - others
    assert names == {*CONFIGS, *DESIGNS}


@pytest.mark.parametrize("config", DESIGNS)
def test_whole_designs_on_a_small_collection(assay_json, config):
    result = assay_json("run", f"configs/{config}.yaml", "limit=12", "latency.queries=3")
    check_run(result, queries=12)
    check_exports(assay_json, result)


def test_the_default_collection(assay, assay_json):
    result = assay_json("run", "configs/bm25.yaml", "latency.queries=5", ASSAY_DATASET="")
    assert result["collection"] == "tarnwick"
    assert not result["sampled"]
    check_run(result, queries=result["queries"])
    check_exports(assay_json, result)
    checked = assay("dataset", "check", "tarnwick")
    assert checked.returncode == 0
    told, judge, independent, unsearched, counts = checked.stdout.splitlines()
    # Colons that no quotes protect: as people write frontmatter.
    assert told.startswith("warning: 5 times, first: frontmatter: line 2: not YAML")
    assert "note: judged_by: a model gave the grades that name nobody" in judge
    assert "note: 773 questions on 60 documents, up to 25 on one: they count as" in independent
    assert "the frontmatter of 55 documents is not searched" in unsearched
    assert counts == "tarnwick: 0 errors, 5 warnings, 3 notes"


@pytest.mark.skipif("ASSAY_DATA" not in os.environ, reason="ASSAY_DATA is not set")
@pytest.mark.parametrize(
    "config",
    [pytest.param(name, marks=[pytest.mark.long] * (name in SLOW)) for name in CONFIGS],
)
def test_a_real_collection(assay_json, config):
    limit = 10 if config == "reranked" else 248
    result = assay_json(
        "run", f"configs/{config}.yaml", "dataset=anthropic_codebase", f"limit={limit}",
        "latency.queries=10",
    )  # fmt: skip
    check_run(result, queries=limit)
    # Passages are prescribed, so recall is ir-measures' own on the whole run.
    import ir_measures

    folder = Path(result["report"]).parent
    run = list(ir_measures.read_trec_run(str(folder / "run.trec")))
    qrels = list(ir_measures.read_trec_qrels(str(folder / "qrels.trec")))
    (recall,) = ir_measures.calc_aggregate(
        [ir_measures.parse_measure("Recall@20")], qrels, run
    ).values()
    assert result["measures"]["Recall@20"]["mean"] == pytest.approx(recall, abs=1e-12)
