"""Baselines: what may become one, what is written, what can be judged against it."""

import json
import subprocess
from dataclasses import replace

import pytest
from samples.planned_runs import make_collection, make_run

from assay.eval.runs import environment
from assay.eval.studies.gate import baseline
from assay.eval.studies.gate.obstacles import list_obstacles
from assay.retrievers.base import AssayError

RANKS = [1, 3, 0, 2, 1, 6]
MEASURES = ["nDCG@10", "MRR@10"]


def with_manifest(run, **changes):
    return replace(run, manifest=run.manifest.model_copy(update=changes))


def test_a_baseline_is_small_sorted_and_read_back(tmp_path):
    run = make_run(tmp_path, "mine", RANKS)
    path = baseline.accept(run, MEASURES, tmp_path / "baselines")
    assert path == tmp_path / "baselines" / "mine@planned.json"
    text = path.read_text()
    values = json.loads(text)
    assert list(values)[:-2] == sorted(list(values)[:-2])
    assert '  "q1": {"MRR@10": 0.333333, "nDCG@10": 0.5},\n' in text
    assert values["means"]["MRR@10"] == round((1 + 1 / 3 + 0 + 1 / 2 + 1 + 1 / 6) / 6, 6)
    assert values["code"] == "a" * 40
    read = baseline.read(path)
    assert read.label == "mine@planned"
    with_sources = with_manifest(run, environment={**run.manifest.environment, "sources": "c" * 64})
    assert baseline.make(with_sources, MEASURES).sources == "c" * 64
    assert baseline.render(read) == text
    assert baseline.accept(run, MEASURES, tmp_path / "baselines").read_text() == text


def test_a_change_of_one_query_is_one_line_of_a_diff(tmp_path):
    texts = [
        baseline.render(baseline.make(make_run(tmp_path, "mine", ranks), ["MRR@10"]))
        for ranks in (RANKS, [*RANKS[:-1], 1])
    ]
    before, after = (set(text.partition('"scores"')[2].splitlines()) for text in texts)
    assert before - after == {'  "q5": {"MRR@10": 0.166667}'}
    assert after - before == {'  "q5": {"MRR@10": 1.0}'}


def test_what_may_not_become_a_baseline(tmp_path):
    run = make_run(tmp_path, "mine", RANKS, degraded=["index down"], limit=3)
    run = with_manifest(run, environment={"git": {"commit": "b" * 40, "dirty": True}})
    with pytest.raises(AssayError) as raised:
        baseline.accept(run, MEASURES, tmp_path / "baselines")
    for words in ("degraded on 3", "index down", "sample", "uncommitted"):
        assert words in str(raised.value)
    assert not (tmp_path / "baselines").exists()


def test_a_baseline_that_is_not_committed_makes_no_run_one_of_changed_code(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "find_checkout", lambda: tmp_path)
    git = ("git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message", "first"], check=True)
    (tmp_path / "reports/baselines").mkdir(parents=True)
    (tmp_path / "reports/baselines/mine@planned.json").write_text("{}")
    monkeypatch.chdir(tmp_path / "reports")
    assert environment.describe()["git"]["dirty"] is False
    (tmp_path / "code.py").write_text("")
    assert environment.describe()["git"]["dirty"] is True


def test_code_outside_a_checkout_is_named_by_its_version(tmp_path):
    run = with_manifest(make_run(tmp_path, "mine", RANKS), environment={"packages": {"assay": "9"}})
    assert baseline.make(run, MEASURES).code == "assay 9"


@pytest.mark.parametrize("text", ["{", '{"format": 1}'])
def test_a_broken_file(tmp_path, text):
    path = tmp_path / "x@y.json"
    path.write_text(text)
    with pytest.raises(AssayError, match="not a baseline"):
        baseline.read(path)
    with pytest.raises(AssayError, match="baseline accept"):
        baseline.read(tmp_path / "none.json")


def test_what_cannot_be_judged_against_a_baseline(tmp_path):
    base = baseline.make(make_run(tmp_path, "mine", RANKS), MEASURES)
    assert list_obstacles(base, make_run(tmp_path, "mine", [1] * 6)) == []
    other = make_collection(6, grade=2)
    cases = {
        "degraded on 6": make_run(tmp_path, "mine", RANKS, degraded=["index down"]),
        "a sample": make_run(tmp_path, "mine", RANKS, limit=3),
        "judgments changed": make_run(tmp_path, "mine", RANKS, collection=other),
        "join rule": with_manifest(make_run(tmp_path, "mine", RANKS), join_rule="x"),
    }
    for words, run in cases.items():
        (obstacle,) = list_obstacles(base, run)
        assert words in obstacle
    del base.scores["q0"]
    (obstacle,) = list_obstacles(base, make_run(tmp_path, "mine", RANKS))
    assert "lacks queries" in obstacle


def of_collection(run, **facts):
    collection = run.manifest.collection.model_copy(update=facts)
    return with_manifest(run, collection=collection)


def ask_otherwise(run):
    """Return a run whose queries have the same ids and other texts."""
    queries = {id_: replace(query, text=f"{query.text}!") for id_, query in run.queries.items()}
    return replace(of_collection(run, digest="f" * 64), queries=queries)


def test_a_baseline_is_of_one_folder_of_a_repository(tmp_path, monkeypatch):
    """Two services of one repository have collections, and baselines, of the same names."""
    (tmp_path / ".git").mkdir()
    for name in "ab":
        folder = tmp_path / "services" / name / "judged"
        folder.mkdir(parents=True)
        (folder / "dataset.yaml").write_text("")
    monkeypatch.chdir(tmp_path / "services")
    first = of_collection(make_run(tmp_path, "mine", RANKS), place="services/a/judged")
    path = baseline.accept(first, MEASURES, tmp_path / "baselines")
    text = path.read_text()
    other = of_collection(first, place="services/b/judged")
    for refused in (lambda: baseline.accept(other, MEASURES, path.parent),
                    lambda: baseline.find_baseline(path.parent, other)):  # fmt: skip
        with pytest.raises(AssayError) as raised:
            refused()
        for words in (str(path), "services/a/judged", "services/b/judged", "--baselines"):
            assert words in str(raised.value)
    assert path.read_text() == text
    # The first collection lies elsewhere now: it moved.
    (tmp_path / "services/a/judged/dataset.yaml").unlink()
    assert baseline.find_baseline(path.parent, other).label == "mine@planned"
    baseline.accept(other, MEASURES, path.parent)
    assert baseline.read(path).collection.place == "services/b/judged"


def test_without_a_folder_queries_tell_collections_apart(tmp_path):
    run = make_run(tmp_path, "mine", RANKS)
    path = baseline.accept(run, MEASURES, tmp_path / "baselines")
    assert baseline.find_baseline(path.parent, of_collection(run, digest="f" * 64))
    with pytest.raises(AssayError, match=r"mine@planned\.json: has no query in common with"):
        baseline.accept(ask_otherwise(run), MEASURES, path.parent)
    assert baseline.read(path).run == run.manifest.id


@pytest.mark.parametrize(
    ("one", "two"),
    [(("mine", "a/b"), ("mine", "a.b")), (("mine", "a:b"), ("mine", "a.b")),
     (("mine@a", "b"), ("mine", "a@b"))],
)  # fmt: skip
def test_names_that_share_a_file_are_not_taken_for_one(tmp_path, one, two):
    run = make_run(tmp_path, "mine", RANKS)
    runs = [
        with_manifest(of_collection(run, name=name), name=config) for config, name in (one, two)
    ]
    path = baseline.accept(runs[0], MEASURES, tmp_path / "baselines")
    with pytest.raises(AssayError, match="is the baseline of"):
        baseline.accept(runs[1], MEASURES, tmp_path / "baselines")
    assert baseline.read(path).label == f"{one[0]}@{one[1]}"


def test_what_changed_is_said(tmp_path):
    run = make_run(tmp_path, "mine", RANKS)
    base = baseline.make(with_manifest(run, config={"a": {"b": [1, 2]}, "c": None}), MEASURES)
    head = with_manifest(
        run,
        config={"a": {"b": [1, 3]}, "d": "x", "measures": ["AP"]},
        environment={"git": {"commit": "c" * 40, "dirty": False}},
    )
    assert baseline.list_changes(base, head) == [
        "a.b.1: 2 → 3",
        "c: null → absent",
        'd: absent → "x"',
        "code: aaaaaaaaaaaa → cccccccccccc",
    ]
    assert baseline.locate(tmp_path, "mine", "a/b:c").name == "mine@a.b.c.json"
