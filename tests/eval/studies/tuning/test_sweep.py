"""Sweeps: the front of quality against latency, and the report."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.sweep import HOSTILE, make_priced, make_sweep

from assay.eval.report.files import write_blocks
from assay.eval.report.scatter import draw_scatter
from assay.eval.studies.tuning.sweep import find_front
from assay.eval.studies.tuning.sweep_running import list_tasks, read_sweep
from assay.eval.studies.tuning.sweep_study import report
from assay.retrievers.base import AssayError

ROOT = Path(__file__).parents[4]
SWEEPS = sorted((ROOT / "configs" / "sweeps").glob("*.yaml"))


POINTS = [
    st.lists(st.tuples(*[st.integers(1, 6)] * costs, st.integers(0, 6)), max_size=12)
    for costs in (1, 2)
]


@given(st.one_of(POINTS))
def test_the_front_is_what_no_other_point_beats(points):
    def beaten(point):
        return any(
            all(one <= two for one, two in zip(other[:-1], point[:-1], strict=True))
            and other[-1] >= point[-1]
            and other != point
            for other in points
        )

    front = find_front(points)
    assert sorted(front) == [i for i, point in enumerate(points) if not beaten(point)]
    costs = [points[i][0] for i in front]
    assert costs == sorted(costs)


def test_the_front_of_a_sweep_is_by_collection():
    sweep = make_sweep()
    fronts = {(item.collection, item.settings["fusion.k"]) for item in sweep.front}
    assert fronts == {("lamps", 10), ("lamps", 60), ("tides", 10)}
    assert sweep.best("lamps").settings["fusion.k"] == 60
    assert sweep.best("nowhere") is None


def write(sweep, folder):
    return write_blocks(sweep, report(sweep), folder)


def draw(sweep, collection, across):
    table = report(sweep).tables[f"points_{collection}"]
    found = [item for item in table.scatters if item.across == across]
    return draw_scatter(table, found[0]) if found else None


def test_what_is_cheap_is_on_the_front_of_a_sweep_that_is_charged_for():
    sweep = make_priced()
    assert {item.settings["fusion.k"] for item in sweep.front} == {10, 30, 60}
    plot = draw(sweep, "lamps", "usd")
    assert [mark.front for mark in plot.marks] == [True, True, True]
    assert [mark.across.at for mark in plot.marks] == [0, 50, 100]
    assert plot.unplaced == 1
    # The line is that of the two figures drawn: the first point costs more and is worse.
    assert plot.path.startswith(f"M0 100V{plot.marks[0].down.at:g}H")
    assert draw(make_sweep(), "lamps", "usd") is None
    untimed = make_priced(timed=False)
    assert {item.settings["fusion.k"] for item in untimed.front} == {30, 60}


def test_the_report_tells_all(tmp_path):
    sweep = make_sweep()
    page = write(sweep, tmp_path / sweep.id).read_text()
    assert HOSTILE not in page
    for told in ("assay tune", "the model is away", "run-60 is degraded: the keyword leg is down"):
        assert told in page
    assert page.count('<g class="dim">') == page.count("../run-60/report.html") == 1
    facts = json.loads((tmp_path / sweep.id / "sweep.json").read_text())
    assert [row.get("failure") for row in facts["points"]].count("the model is away") == 1
    assert [row["front"] for row in facts["points"][:3]] == [True, False, True]


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_the_sweeps_of_the_project_can_be_run(path):
    settings = read_sweep(path)
    tasks = list_tasks(path, settings, ())
    assert settings.description
    assert settings.name == path.stem
    assert 1 < len(tasks) / len(settings.collections) <= 30
    configs = [task.config.model_dump_json() for task in tasks]
    assert len(set(configs)) == len(configs)


def write_sweep(folder, text):
    path = folder / "mine.yaml"
    path.write_text(text)
    return path


BASE = f"base: {ROOT}/configs/hybrid_rrf.yaml\ncollections: [harbourline]\n"


def list_points(path):
    return [task.point for task in list_tasks(path, read_sweep(path), ())]


def test_an_overridden_dataset_takes_the_place_of_collections(tmp_path):
    path = write_sweep(tmp_path, f"{BASE}axes: {{retriever.fusion.k: [2, 10]}}\n")
    overrides = ["dataset=tarnwick:dev"]
    tasks = list_tasks(path, read_sweep(path, (), overrides), overrides)
    assert [task.config.dataset for task in tasks] == ["tarnwick:dev"] * 2
    with pytest.raises(AssayError, match=r"mine\.yaml: axes\.retriever\.fusion\.k: is an axis"):
        read_sweep(path, (), ["retriever.fusion.k=7"])


def test_points_are_the_product_of_configs_axes_and_collections(tmp_path):
    path = write_sweep(
        tmp_path,
        f"configs: [{ROOT}/configs/bm25.yaml, {ROOT}/configs/semantic.yaml]\n"
        "axes: {retriever.legs.*.depth: [5, 9], documents.headings: [true]}\n"
        f"collections: [harbourline, {ROOT}/datasets/harbourline]\n",
    )
    tasks = list_tasks(path, read_sweep(path), ["limit=3"])
    assert len(tasks) == 8
    first, last = tasks[0], tasks[-1]
    assert first.point == {
        "config": "bm25",
        "retriever.legs.*.depth": 5,
        "documents.headings": True,
    }
    assert first.config.retriever.legs["keyword"].depth == 5
    assert last.config.retriever.legs["dense"].depth == 9
    assert first.config.dataset == "harbourline"
    assert last.config.dataset == f"{ROOT}/datasets/harbourline"
    assert {task.config.limit for task in tasks} == {3}
    assert tasks[0].label == "config bm25, depth 5, headings true on harbourline"


def test_paths_of_a_sweep_are_from_its_folder(tmp_path, monkeypatch):
    (tmp_path / "sweeps").mkdir()
    (tmp_path / "base.yaml").write_text(f"base: {ROOT}/configs/bm25.yaml\n")
    shutil.copytree(ROOT / "datasets" / "harbourline", tmp_path / "mine")
    path = write_sweep(tmp_path / "sweeps", "base: ../base.yaml\ncollections: [../mine]\n")
    for folder in (tmp_path, ROOT):
        monkeypatch.chdir(folder)
        (task,) = list_tasks(path, read_sweep(path), ())
        assert task.config.dataset == str(tmp_path / "mine")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BASE + "axis: {}", ("axis", "unknown key")),
        (BASE + "axes: {retriever.fusion.k: 5}", ("axes", "retriever.fusion.k", "list")),
        (BASE + "axes: {retriever.fusion.k: []}", ("axes", "retriever.fusion.k", "at least 1")),
        (BASE + "axes: {retriever.fusion.kk: [5]}", ("retriever.fusion.kk", "unknown key")),
        (BASE + "axes: {retriever.fusion.k: [fast]}", ("retriever.fusion.k", "'fast'")),
        (BASE + "axes: {retriever.stages.*.depth: [5]}", ("retriever.stages.*.depth", "no keys")),
        (BASE + "axes: {dataset: [scifact]}", ("axes.dataset", "collections")),
        (BASE + "configs: [a.yaml]", ("base, configs", "one of them")),
        (BASE + "measure: nDCG@ten", ("measure", "nDCG@ten")),
        (BASE + "name: a/b", ("name", "pattern")),
        ("collections: [harbourline]", ("base, configs", "one of them")),
        ("base: a.yaml\ncollections: [nowhere]", ("collections", "nowhere", "harbourline")),
        ("base: a.yaml\ncollections: [harbourline]", ("a.yaml", "no such config")),
        ("base: a.yaml", ("a.yaml", "no such config")),
        ("base: a.yaml\ncollections: [./nowhere]", ("collections", "nowhere", "no such")),
        ("base: a.yaml\ncollections: [tarnwick, tarnwick]", ("collections", "given twice")),
        ("[1]", ("mapping",)),
    ],
)
def test_a_bad_file_is_one_line(tmp_path, text, words):
    path = write_sweep(tmp_path, text)
    with pytest.raises(AssayError) as caught:
        list_points(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    for word in words:
        assert word in message
