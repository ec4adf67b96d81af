"""What the fusions that engines offer are worth, by the engine or by the formula it states."""

import json
from pathlib import Path

import pytest
from tools.processes import ROOT

from assay.eval import api
from assay.eval.cli.parity_output import print_fusions
from assay.eval.configs import engine_settings
from assay.eval.configs.config import load_config
from assay.eval.configs.resources import make_resources
from assay.eval.report.formats import signed
from assay.eval.studies.stores.parity import fusions_page as page
from assay.eval.studies.stores.parity.fusion_runs import KEYWORD_LEG, compare_offers
from assay.eval.studies.stores.parity.fusions import BASES, BETTER, FusionScores, compare_fusions
from assay.eval.studies.stores.parity.quality import DENSE, HYBRID, KEYWORD, NATIVE, OURS, SYSTEMS
from assay.eval.studies.stores.parity.sweep import HYBRID_FUSION
from assay.retrievers.models.encoders import EncoderSettings
from assay.retrievers.pipeline.pipeline import PipelineSettings

DOCS = ROOT / "docs"


def test_hybrid_is_that_of_the_config() -> None:
    retriever = load_config(ROOT / "configs/hybrid.yaml").retriever
    assert isinstance(retriever, PipelineSettings)
    assert retriever.fusion == HYBRID_FUSION
    assert retriever.legs["keyword"] == KEYWORD_LEG
    dense = retriever.legs["dense"].model_dump()
    assert dense["encoder"] == EncoderSettings().model_dump()
    assert dense["depth"] == KEYWORD_LEG.depth


def test_every_choice_of_a_fusion_is_looked_at() -> None:
    labels = [item.label for item in engine_settings.list_fusions()]
    found = [label for label in labels if label.startswith("opensearch fusion=")]
    assert found[0] == "opensearch fusion={type: normalisation}"
    assert "opensearch fusion={type: normalisation, normalisation: l2}" in found
    assert "opensearch fusion={type: normalisation, normalisation: z_score}" in found
    assert len(found) == 7  # z-scores have one mean only
    assert len(set(labels)) == len(labels)


def test_a_fusion_is_held_against_the_better_list() -> None:
    queries = [str(number) for number in range(20)]

    def score(value: float) -> dict[str, dict[str, float]]:
        return {"nDCG@10": {query: value + int(query) / 100 for query in queries}}

    values = {DENSE: 0.3, KEYWORD: 0.4, NATIVE: 0.45, OURS: 0.5, HYBRID: 0.6}
    scores = {system: score(value) for system, value in values.items()}
    worse = FusionScores(("a",), "a formula", "", scores)
    better = FusionScores(("b",), "b", "", scores | {NATIVE: score(0.7), DENSE: score(0.5)})
    one, other = compare_fusions([worse, better])
    found = {base: item.difference.value for base, item in one.against.items()}
    assert found == pytest.approx({HYBRID: -0.15, OURS: -0.05, BETTER: 0.05})
    assert one.against[HYBRID].verdict == "worse"
    assert one.against[BETTER].verdict == "better"
    assert other.against[BETTER].difference.value == pytest.approx(0.2)


def test_fusions_of_engines_that_run_here_and_that_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path))
    monkeypatch.delenv("WEAVIATE_URL", raising=False)
    monkeypatch.setattr(engine_settings, "TYPES", {"weaviate", "qdrant-edge"})
    monkeypatch.chdir(ROOT)
    found = compare_offers(["harbourline"], None, make_resources())
    (table,) = found.tables
    assert list(found.absent) == ["weaviate"]
    assert [row.labels for row in table.own] == [("qdrant-edge",), ("qdrant-edge fusion=dbsf",)]
    assert {row.note for row in table.own} <= {"identical", "identical but for ties"}
    labels = {label for row in table.shared for label in row.labels}
    assert labels >= {"weaviate fusion=relative_score", "qdrant-edge fusion=dbsf"}
    for row in (*table.shared, *table.own):
        assert tuple(row.means) == SYSTEMS
        assert tuple(row.against) == BASES
    # What is called ours is what the configs give.
    means = table.shared[0].means
    for name, system in (("hybrid", HYBRID), ("hybrid_rrf", OURS)):
        result = api.run(name, "dataset=harbourline", "latency.queries=0", track=False)
        mean = result.measures.loc["nDCG@10", "mean"]
        assert mean == pytest.approx(means[system]["nDCG@10"].value)
    capsys.readouterr()
    print_fusions(found)
    tables = capsys.readouterr().out.partition("the same two lists")[2].partition("not measured")[0]
    assert "fusion=relative_score" in tables
    assert max(map(len, tables.splitlines())) <= 80
    text, facts = page.write(found, tmp_path / "page")
    assert text.read_text() == page.render(json.loads(facts.read_text()))
    assert "weaviate fusion=relative\\_score\\*" in text.read_text()
    assert "p is adjusted for all differences of a table together" in text.read_text()
    rows = [line for line in text.read_text().splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in rows)


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("sqlite", "RRF has −0.044, −0.014 and −0.060"),
        ("sqlite fusion=min-max", "sqlite's `fusion=min-max` −0.003, 0.000 and −0.020"),
        ("qdrant-edge fusion=dbsf", "qdrant-edge's `fusion=dbsf` −0.008, +0.003 and −0.018"),
    ],
)
def test_the_docs_have_the_figures_that_are_stored(label: str, shown: str) -> None:
    tables = json.loads((DOCS / page.FACTS).read_text())["tables"]
    rows = [row for table in tables for row in table["shared"] if label in row["labels"]]
    found = [signed(row["against"][HYBRID]["difference"]["value"]) for row in rows]
    assert shown.endswith(f" {found[0]}, {found[1]} and {found[2]}")
    assert shown in (DOCS / "engines.md").read_text()


def test_no_fusion_is_shown_to_be_better_than_hybrid() -> None:
    tables = json.loads((DOCS / page.FACTS).read_text())["tables"]
    rows = [row["against"][HYBRID] for table in tables for row in table["shared"]]
    assert not [row for row in rows if row["adjusted"] <= 0.05 and row["difference"]["value"] > 0]
    assert [row for row in rows if row["adjusted"] <= 0.05 and row["difference"]["value"] < 0]
