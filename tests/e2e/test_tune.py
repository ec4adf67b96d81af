"""`assay tune` as a user meets it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from processes import ROOT

BM25 = "configs/bm25.yaml"
K1 = "retriever.legs.keyword.k1"
# It has one formula, so that there is no variant to choose.
REFERENCE = ("retriever.legs.keyword.scorer=rank-bm25", "retriever.legs.keyword.variant=okapi")
QUICK = ("--repeats", "2", "--no-track")


def mlflow_run(places: dict[str, str], run_id: str) -> Any:
    from mlflow.tracking import MlflowClient

    return MlflowClient(places["MLFLOW_TRACKING_URI"]).get_run(run_id)


@pytest.fixture(scope="module")
def tuned(assay_json, places: dict[str, str]) -> dict[str, Any]:
    return assay_json("tune", BM25, "limit=20", "--over", f"{K1}=0.5,1.2,5", "--repeats", "2")


def test_figures(tuned: dict[str, Any]) -> None:
    assert Path(tuned["output"]).name == f"bm25-{tuned['collection']}.yaml"
    assert tuned["config"] == "bm25"
    assert tuned["queries"] == 20
    assert [item["settings"][K1] for item in tuned["points"]] == [0.5, 1.2, 5]
    assert tuned["kept"] + sum(item["chosen"] for item in tuned["points"]) == tuned["choices"] == 10
    as_given = tuned["points"][1]  # 1.2 is what the config says
    assert as_given["gain"]["value"] == 0
    assert as_given["chosen"] == 0
    assert as_given["mean"] == pytest.approx(tuned["given"]["value"])
    naive, held = tuned["naive_gain"], tuned["held_out_gain"]
    assert naive["value"] == max(0, *(item["gain"]["value"] for item in tuned["points"]))
    assert held["low"] <= held["value"] <= held["high"]


def test_the_page_tells_all(tuned: dict[str, Any]) -> None:
    page = Path(tuned["report"]).read_text()
    assert "best, held out" in page
    assert f"on {tuned['collection']}" in page
    for item in tuned["points"]:
        assert f'<td class="number">{item["mean"]:.3f}</td>' in page
    assert (
        f"{tuned['held_out_gain']['value']:+.3f}"
        in Path(tuned["report"]).with_suffix(".md").read_text()
    )


def test_scores_are_those_of_a_run(tuned: dict[str, Any], assay_json) -> None:
    item = tuned["points"][2]
    run = assay_json("run", BM25, "limit=20", f"{K1}={item['settings'][K1]}", "latency.queries=0")
    assert run["measures"]["nDCG@10"]["mean"] == pytest.approx(item["mean"])


def test_the_config_that_is_written(tuned: dict[str, Any], assay, assay_json, places) -> None:
    path = Path(tuned["output"])
    assert path == Path(places["ASSAY_REPORTS"]) / "tuned" / f"bm25-{tuned['collection']}.yaml"
    written = yaml.safe_load(path.read_text())
    best = tuned["best"] or {}
    assert (path.parent / written["base"]).resolve() == ROOT / BM25
    assert written["name"] == "bm25_tuned"
    assert written["limit"] == 20
    assert written.get("retriever", {}) == ({"legs": {"keyword": {"k1": best[K1]}}} if best else {})
    said = tuned["verdict"] if best else "no point is better"
    assert written["description"].startswith(said)
    assert "on harbourline" in written["description"]
    assert "assay tune configs/bm25.yaml limit=20" in written["description"]
    run = assay_json("run", str(path), "latency.queries=0")
    means = {json.dumps(item["settings"]): item["mean"] for item in tuned["points"]}
    expected = means[json.dumps(best)] if best else tuned["given"]["value"]
    assert run["measures"]["nDCG@10"]["mean"] == pytest.approx(expected)
    stored = json.loads(path.with_suffix(".json").read_text())
    assert stored["points"] == tuned["points"]


def test_mlflow_holds_both_gains(tuned: dict[str, Any], places: dict[str, str]) -> None:
    run = mlflow_run(places, tuned["mlflow_run"])
    written = Path(tuned["output"]).stat().st_mtime * 1000
    assert run.info.start_time < written, "it lasted from before the search, not from its logging"
    data = run.data
    assert data.metrics["naive_gain/nDCG_at_10"] == pytest.approx(tuned["naive_gain"]["value"])
    assert data.metrics["held_out_gain/nDCG_at_10.low"] == tuned["held_out_gain"]["low"]
    assert data.params["retriever.legs.keyword.k1"] == "1.2"
    assert data.tags["assay.verdict"] == tuned["verdict"]


def test_the_table_shows_both_gains_and_the_surface(assay, tmp_path: Path) -> None:
    output = tmp_path / "mine.yaml"
    done = assay("tune", BM25, "limit=30", *QUICK, "--output", str(output))
    assert done.returncode == 0, done.stderr
    assert "made for this config: 72 of 72 points" in done.stdout
    assert "chosen by" in done.stdout
    assert "held out" in done.stdout
    assert "k1" in done.stdout
    assert "0.75" in done.stdout
    assert output.exists()


def test_lists_and_other_kinds_are_written_whole(assay_json, tmp_path: Path) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text(
        "name: mine\nretriever:\n  legs: {one: {type: bm25}, two: {type: bm25, analyzer: words}}\n"
        "  fusion: {type: rrf, k: 7, weights: {one: 2.0}}\n"
    )
    output = tmp_path / "tuned" / "deep" / "mine.yaml"
    tuned = assay_json(
        "tune", str(config), "limit=20", *QUICK, "--output", str(output), "--measure", "Recall@20",
        "--over", "retriever.fusion={type: linear, normalisation: z-score}",
    )  # fmt: skip
    shown = assay_json("config", "show", str(output))
    kind = shown["retriever"]["fusion"]["type"]
    assert kind == ("linear" if tuned["best"] else "rrf")
    assert shown["name"] == "mine_tuned"


def test_a_space_from_a_file_and_a_sample_of_it(assay_json, tmp_path: Path) -> None:
    space = tmp_path / "space.yaml"
    space.write_text(f"axes:\n  - {K1}: [0.5, 1]\n  - {K1}: [1, 2, 3]\n")
    output = ("--output", str(tmp_path / "out.yaml"))
    call = ("tune", BM25, "limit=20", *QUICK, *output, "--space", str(space))
    values = [item["settings"][K1] for item in assay_json(*call)["points"]]
    assert values == [0.5, 1, 2, 3]
    sample = [item["settings"][K1] for item in assay_json(*call, "--trials", "2")["points"]]
    assert len(sample) == 2
    assert set(sample) < set(values)


def test_the_spaces_of_the_project_can_be_tried() -> None:
    from eval.experiments.config import load_config
    from eval.experiments.search_spaces import derive_space, read_space, resolve_points

    hybrid = ROOT / "configs" / "hybrid_rrf.yaml"
    for path in (ROOT / "configs" / "spaces").glob("*.yaml"):
        points = read_space(path).points
        assert len(resolve_points(hybrid, (), points, load_config(hybrid))) == len(points) > 10
    for name, count in (("bm25", 72), ("hybrid_rrf", 64), ("contextual", 64), ("reranked", 256)):
        config = ROOT / "configs" / f"{name}.yaml"
        settings = load_config(config)
        points = derive_space(settings).points
        assert len(resolve_points(config, (), points, settings)) == len(points) == count
    reference = load_config(ROOT / "configs" / "bm25.yaml", REFERENCE)
    assert len(derive_space(reference).points) == 36


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("configs/semantic.yaml",), ("semantic", "--over")),
        ((BM25, "--over", "k1"), ("k1", "key.path=v1,v2,v3")),
        ((BM25, "--over", "dataset=scifact,cranfield"), ("dataset", "retriever and documents")),
        ((BM25, "--over", "retriever.legs.keyword.k2=1"), ("k2", "unknown key")),
        ((BM25, "--space", "nowhere.yaml"), ("nowhere.yaml",)),
        ((BM25, "--space", "configs/bm25.yaml"), ("configs/bm25.yaml", "axes")),
        ((BM25, "--space", "x.yaml", "--over", f"{K1}=1"), ("--space", "one of them")),
        ((BM25, "--measure", "nDCG@ten"), ("nDCG@ten",)),
        ((BM25, "limit=4", "--over", f"{K1}=1"), ("4 queries in 4 groups", "5 folds")),
    ],
)
def test_bad_input(assay, tmp_path: Path, arguments: tuple[str, ...], words) -> None:
    output = tmp_path / "tuned.yaml"
    done = assay("tune", *arguments, "--no-track", "--output", str(output))
    assert done.returncode == 2, done.stdout
    assert done.stdout == ""
    *_, line = done.stderr.strip().splitlines()
    assert line.startswith("assay: ")
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in line
    assert not list(tmp_path.iterdir())
