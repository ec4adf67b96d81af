"""`assay tune` as a user meets it."""

import json
from pathlib import Path

import pytest
import yaml
from tools.processes import ROOT

BM25 = "configs/bm25.yaml"
K1 = "retriever.legs.keyword.k1"
# It has one formula, so that there is no variant to choose.
REFERENCE = ("retriever.legs.keyword.scorer=rank-bm25", "retriever.legs.keyword.variant=okapi")
QUICK = ("--repeats", "2", "--no-track")


def test_mlflow_holds_both_gains(tuned, places):
    from mlflow.tracking import MlflowClient

    run = MlflowClient(places["MLFLOW_TRACKING_URI"]).get_run(tuned["mlflow_run"])
    written = Path(tuned["output"]).stat().st_mtime * 1000
    assert run.info.start_time < written, "it lasted from before the search, not from its logging"
    metrics = run.data.metrics
    assert metrics["naive_gain/nDCG_at_10"] == pytest.approx(tuned["naive_gain"]["value"])
    assert metrics["held_out_gain/nDCG_at_10.low"] == tuned["held_out_gain"]["low"]
    assert run.data.params["retriever.legs.keyword.k1"] == "1.2"
    assert run.data.tags["assay.verdict"] == tuned["verdict"]


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    return tmp_path_factory.mktemp("tuned-alone")  # other tests tune the same keys


@pytest.fixture(scope="module")
def tuned(assay_json, reports):
    call = ("tune", BM25, "limit=20", "--over", f"{K1}=0.5,1.2,5", "--repeats", "2")
    return assay_json(*call, ASSAY_REPORTS=str(reports))


def test_the_config_that_is_written(tuned, assay_json, reports):
    path = Path(tuned["output"])
    assert path == reports / "tuned" / f"bm25-{tuned['collection']}-k1.yaml"
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


def test_lists_and_other_kinds_are_written_whole(assay_json, tmp_path):
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


def test_a_space_from_a_file_and_a_sample_of_it(assay_json, tmp_path):
    space = tmp_path / "space.yaml"
    space.write_text(f"axes:\n  - {K1}: [0.5, 1]\n  - {K1}: [1, 2, 3]\n")
    output = ("--force", "--output", str(tmp_path / "out.yaml"))
    call = ("tune", BM25, "limit=20", *QUICK, *output, "--space", str(space))
    values = [item["settings"][K1] for item in assay_json(*call)["points"]]
    assert values == [0.5, 1, 2, 3]
    sample = [item["settings"][K1] for item in assay_json(*call, "--trials", "2")["points"]]
    assert len(sample) == 2
    assert set(sample) < set(values)


@pytest.mark.slow
def test_the_spaces_of_the_project_can_be_tried():
    from assay.eval.configs.config import load_config
    from assay.eval.studies.tuning.spaces import derive_space, read_space, resolve_points

    hybrid = ROOT / "configs" / "hybrid_rrf.yaml"
    for path in (ROOT / "configs" / "spaces").glob("*.yaml"):
        points = read_space(path).points
        assert len(resolve_points(hybrid, (), points, load_config(hybrid))) == len(points) > 10
    for name, count in (("bm25", 76), ("hybrid_rrf", 320), ("contextual", 80), ("reranked", 64)):
        config = ROOT / "configs" / f"{name}.yaml"
        settings = load_config(config)
        points = derive_space(settings).points
        assert len(resolve_points(config, (), points, settings)) == len(points) == count
    reference = load_config(ROOT / "configs" / "bm25.yaml", REFERENCE)
    assert len(derive_space(reference).points) == 40


def read_files(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.slow
def test_a_result_of_another_question_is_kept(assay, tmp_path):
    """As a context that is worth taking was, by the plain call that followed it."""

    def tune(*more):
        done = assay("tune", BM25, "limit=20", *QUICK, *more, ASSAY_REPORTS=str(tmp_path))
        assert done.returncode == 0, done.stderr
        return done

    folder, name = tmp_path / "tuned", "bm25-harbourline"
    space, other = (("--over", f"{K1}={values}") for values in ("0.5,5", "0.7,1"))
    tune(*space)
    first = read_files(folder)
    assert list(first) == [f"{name}-k1.{end}" for end in ("html", "json", "md", "yaml")]
    tune()
    said = tune(*other).stderr
    assert f"kept: {folder}/{name}-k1.yaml is of " in said
    assert f"this result is {folder}/{name}-k1-2.yaml" in said
    after = read_files(folder)
    assert {path.name for path in folder.glob("*.yaml")} == {
        f"{name}.yaml", f"{name}-k1.yaml", f"{name}-k1-2.yaml"
    }  # fmt: skip
    assert all(after[path] == content for path, content in first.items())
    for again in ((), space, other):
        assert "kept" not in tune(*again).stderr
    assert {path: text for path, text in read_files(folder).items() if path in after} == after
    assert len(read_files(folder)) == len(after), "the same call gives the same file"


def test_a_file_of_the_users_is_replaced_only_by_force(assay, tmp_path):
    output = tmp_path / "mine.yaml"
    call = ("tune", BM25, "limit=20", *QUICK, "--over", f"{K1}=0.5,5", "--output", str(output))
    output.write_text("base: bm25\nname: mine\n")
    refused = assay(*call)
    assert refused.returncode == 2
    assert f"--output: {output} was made by hand" in refused.stderr
    assert read_files(tmp_path) == {"mine.yaml": b"base: bm25\nname: mine\n"}
    forced = assay(*call, "--force")
    assert forced.returncode == 0, forced.stderr
    assert f"replaced: {output} was made by hand" in forced.stderr
    assert yaml.safe_load(output.read_text())["name"] == "bm25_tuned"
    assert assay(*call).returncode == 0, "it is the answer to the same question"
    output.write_text(output.read_text().replace("bm25_tuned", "changed"))
    refused = assay(*call)
    assert refused.returncode == 2
    assert "was made by assay tune and changed since" in refused.stderr
    assert yaml.safe_load(output.read_text())["name"] == "changed"
