"""`assay threshold`, and what a run says of queries that nothing answers."""

import re

import pytest
import yaml
from tools.project_files import write_native


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    queries = [{"_id": id_, "text": text} for id_, (text, _, _) in QUERIES.items()]
    judgments = [
        {"query_id": id_, "path": path, "start": 0, "end": len(DOCUMENTS[path]), "grade": grade}
        for id_, (_, path, grade) in QUERIES.items()
    ]
    folder = tmp_path_factory.mktemp("cards") / "harbour"
    return write_native(folder, DOCUMENTS, queries, judgments, "answering_grade: 2\n")


DOCUMENTS = {
    "ferry.md": "# Ferry\n\nThe ferry to the island sails at eight in winter and six in summer.\n",
    "dogs.md": "# Dogs\n\nDogs travel on deck, on a lead, and pay no fare on the ferry.\n",
    "fish.md": "# Market\n\nThe fish market opens at five and closes when all is sold.\n",
}
QUERIES = {
    "q1": ("when does the ferry to the island sail in winter", "ferry.md", 3),
    "q2": ("may dogs travel on deck", "dogs.md", 2),
    "q3": ("when does the fish market open", "fish.md", 2),
    "q4": ("deductible of the cyber insurance", "dogs.md", 0),
    "q5": ("ferry fares for motorcycles", "dogs.md", 1),
}


@pytest.mark.slow
def test_what_is_fitted_is_what_a_run_does(assay, assay_json, collection, tmp_path):
    path = tmp_path / "fitted.yaml"
    over = (f"dataset={collection}", "latency.queries=0")
    wanted = ("--false-empty", "0.4", "--output", str(path))
    fitted = assay_json("threshold", "configs/hybrid.yaml", *over, *wanted)
    assert (fitted["falsely_empty"]["n"], fitted["rightly_empty"]["n"]) == (3, 2)
    assert fitted["falsely_empty"]["value"] == pytest.approx(1 / 3)
    assert fitted["stage"] == {"type": "threshold", "of": "dense", "minimum": fitted["minimum"]}
    steps = {(item["step"], item["score"]) for item in fitted["auc"]}
    assert steps == {
        (step, score) for step in ("dense", "keyword", "fusion") for score in ("best", "margin")
    }
    minima = [trade["minimum"] for trade in fitted["trade"]]
    assert minima == sorted(set(minima)), "on three queries most shares have one threshold"
    assert len(minima) == 2

    other = assay("threshold", "hybrid", *over, "--false-empty", "0.1", "--output", str(path))
    assert other.returncode == 2
    assert f"--output: {path} is of " in other.stderr
    stages = yaml.safe_load(path.read_text())["retriever"]["stages"]
    assert stages == [fitted["stage"] | {"rare_words": None}]
    run = assay_json("run", str(path), "--no-track")
    for kind, name in (("answered", "falsely_empty"), ("unanswered", "rightly_empty")):
        assert run["answering"][kind] == fitted[name]
    again = assay_json("threshold", str(path), "--false-empty", "0.4")
    assert again["minimum"] == fitted["minimum"]
    shown = assay("threshold", str(path), "--false-empty", "0.4").stdout
    assert "3 answered, 2 unanswered" in shown
    rows = [line.split()[0] for line in shown.partition("dense below")[2].splitlines()[1:3]]
    assert rows == [f"{minimum:g}" for minimum in minima]
    assert f"- {{type: threshold, of: dense, minimum: {fitted['minimum']}}}" in shown


@pytest.mark.parametrize(
    ("config", "options", "words"),
    [
        ("configs/bm25.yaml", (), "needs the stage rerank or a semantic leg"),
        ("configs/hybrid.yaml", ("--of", "keyword"), "--of keyword: .* allowed: dense"),
        ("configs/hybrid.yaml", ("--false-empty", "1"), "--false-empty"),
    ],
)
def test_what_has_no_meaning_is_refused(assay, collection, tmp_path, config, options, words):
    path = tmp_path / "none.yaml"
    over = (f"dataset={collection}", *options, "--output", str(path))
    done = assay("threshold", config, *over)
    assert (done.returncode, done.stdout) == (2, "")
    line = done.stderr.strip().splitlines()[-1]
    assert re.search(words, line), line
    assert not path.exists()
