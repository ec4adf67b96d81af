"""Measures of somebody's own: found by name, used as others are, and refused where wrong."""

from pathlib import Path

import pytest
from samples.planned_runs import make_collection, make_run
from tools.plugged_packages import install

from assay.eval.configs.config import load_config
from assay.eval.report.run_page.page import write
from assay.eval.runs.summary.summary import summarise
from assay.eval.scoring import measures
from assay.eval.scoring.kinds import Hit
from assay.eval.studies.comparison.analysis import compare
from assay.eval.studies.gate.settings import GateSettings
from assay.retrievers.base import AssayError

RANKS = (1, 3, 0, 12, 2, 7, 1, 1)
BETTER = (1, 1, 1, 3, 1, 2, 1, 1)
OWN = "examples.first_rank:FirstRank"
WRONG = """
from assay.eval.scoring.own import OwnMeasure

class Part(OwnMeasure):
    name = "{name}"
    direction = "{direction}"
    def score(self, ranking, gold):
        return {score}

class Other: ...
class Half(OwnMeasure): ...
"""


@pytest.fixture
def plug(tmp_path, monkeypatch):
    """Return what installs measures, {name: path of a class}."""
    return lambda **parts: install(tmp_path, monkeypatch, "assay.measures", **parts)


@pytest.fixture(autouse=True)
def _forget():
    yield
    measures.find.cache_clear()


def test_a_measure_made_of_another_is_scored_by_its_own_rule():
    class Halved(Hit):
        name = "Halved"

        def score_queries(self, joined, gold):
            return dict.fromkeys(gold, 0.5)

    class Renamed(Hit):
        name = "Renamed"

    assert Hit(cutoff=5).columnar
    assert Renamed(cutoff=5).columnar
    assert not Halved(cutoff=5).columnar


def test_a_measure_is_used_as_others_are(tmp_path, plug):
    plug(FirstRank=OWN)
    collection = make_collection(len(RANKS))
    base = make_run(tmp_path, "base", RANKS, collection=collection)
    other = make_run(tmp_path, "other", BETTER, collection=collection)
    assert measures.check_names(["FirstRank", "FirstRank"]) == ["FirstRank"]
    summary = summarise(base, ["FirstRank", "nDCG@10"])
    assert [*summary.scores["FirstRank"].values()][:5] == [1, 3, 8, 8, 2]
    assert "rank of the first relevant passage" in write(summary).read_text()
    (difference,) = compare([base, other], ["FirstRank"]).pairs[0].differences
    assert difference.difference.value < 0
    assert (difference.wins, difference.losses) == (5, 0), "a lower rank is a win"


def test_a_config_may_name_it(tmp_path, plug):
    path = tmp_path / "config.yaml"
    path.write_text(f"base: {Path('configs/bm25.yaml').resolve()}\nmeasures: [Hit@5, FirstRank]\n")
    with pytest.raises(AssayError, match="'FirstRank' is not a measure"):
        load_config(path)
    plug(FirstRank=OWN)
    assert load_config(path).measures == ["Hit@5", "FirstRank"]


def test_of_which_less_is_better_is_not_gated(plug):
    plug(FirstRank=OWN)
    told = "FirstRank cannot be gated: lower is better, and it is no share"
    with pytest.raises(ValueError, match=told):
        GateSettings(measures={"FirstRank": 0.1})
    with pytest.raises(AssayError, match="FirstRank: lower is better"):
        measures.check_rising("FirstRank")


@pytest.mark.parametrize(
    ("name", "values", "told"),
    [
        ("Part", {"name": "Else"}, "`name` must be 'Part'"),
        ("Part", {"direction": "up"}, "`direction` must be one of higher, lower, neither"),
        ("Part", {"score": "1 / 0"}, "Part: query q0: ZeroDivisionError: division by zero"),
        ("Part", {"score": "float('nan')"}, "Part: query q0: nan is no score"),
        ("Other", {}, "no subclass of assay.eval.scoring.own.OwnMeasure"),
        ("Half", {}, "does not define score"),
    ],
)
def test_a_wrong_one_is_told(tmp_path, monkeypatch, plug, name, values, told):
    right = {"name": "Part", "direction": "higher", "score": "0.5"}
    module = f"plugged_{abs(hash((name, *values.items())))}"
    (tmp_path / f"{module}.py").write_text(WRONG.format(**{**right, **values}))
    plug(**{name: f"{module}:{name}"})
    monkeypatch.delitem(__import__("sys").modules, module, raising=False)
    run = make_run(tmp_path, "base", RANKS[:2], collection=make_collection(2))
    with pytest.raises(AssayError) as raised:
        measures.score([name], run.joined, run.gold)
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)
