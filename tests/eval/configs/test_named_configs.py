"""Configs are found by name in any folder, and base themselves on one another by name."""

import pytest

from assay.eval.api.studies import find
from assay.eval.configs.config import load_config, make_config
from assay.eval.configs.named_configs import is_config
from assay.eval.running.run_references import resolve
from assay.eval.shipped import find_shipped
from assay.eval.studies.comparison.study import STUDY
from assay.retrievers.base import AssayError, Quiet


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_configs_of_the_folder_come_first_and_files_of_their_names_do_not(elsewhere):
    (elsewhere / "bm25").write_text("q1 Q0 d1 1 1.0 bm25\n")
    assert load_config("bm25").name == "bm25"
    (elsewhere / "configs").mkdir()
    (elsewhere / "configs/bm25.yaml").write_text("base: bm25\nname: mine\ndepth: 9\n")
    config = load_config("bm25")
    assert (config.name, config.depth) == ("mine", 9)
    assert config.retriever == load_config(find_shipped("configs") / "bm25.yaml").retriever


def test_a_base_is_a_name_or_a_path_and_no_circle(elsewhere):
    (elsewhere / "mine.yaml").write_text("base: hybrid_rrf\nname: mine\n")
    (elsewhere / "other.yaml").write_text("base: mine\ndepth: 5\n")
    (elsewhere / "third.yaml").write_text("base: other.yaml\n")
    third = load_config("third.yaml")
    assert (third.name, third.depth) == ("mine", 5)
    assert third.retriever == load_config("hybrid_rrf").retriever
    assert make_config({"base": "bm25", "depth": 3}, [], "here").name == "bm25"
    (elsewhere / "one.yaml").write_text("base: two.yaml\n")
    (elsewhere / "two.yaml").write_text("base: one.yaml\n")
    with pytest.raises(AssayError, match="the files form a circle"):
        load_config("one.yaml")


@pytest.mark.parametrize("given", ["bm26", "configs/bm26.yaml"])
def test_an_unknown_config_is_told_with_the_names(given, elsewhere):
    with pytest.raises(AssayError, match=r"bm26.*: no such config; by name .*did you mean bm25\?"):
        load_config(given)
    (elsewhere / "mine.yaml").write_text("base: bm26\n")
    with pytest.raises(AssayError, match=r"mine\.yaml: base: bm26: .*did you mean bm25\?"):
        load_config("mine.yaml")


@pytest.mark.parametrize("given", ["configs/bm25.yaml", "elsewhere/bm25.yml", "bm25.yaml"])
def test_a_file_that_is_not_here_may_be_one_that_ships(given, elsewhere):
    """As `configs/bm25.yaml`, which the documents name, for whoever has the wheel alone."""
    for beside in (False, True):
        if beside:
            (elsewhere / "configs").mkdir()
            (elsewhere / "configs/mine.yaml").write_text("base: bm25\nname: mine\n")
        with pytest.raises(AssayError, match=r"no such file here; say `bm25` for /"):
            load_config(given)


def test_too_few_runs_are_refused_before_any_is_made(elsewhere):
    for references in (["bm25"], ["bm25", "bm25"]):
        with pytest.raises(AssayError, match="a comparison needs"):
            find(STUDY, {"runs": references})
    with pytest.raises(AssayError, match="a measure other than Judged and Tokens"):
        find(STUDY, {"runs": ["bm25", "hybrid"], "measures": ["Judged@10"]})
    assert not list(elsewhere.iterdir())


def test_names_that_are_nearly_right_are_offered(elsewhere):
    (elsewhere / "mine.yaml").write_text("base: hybrid.yaml\n")
    with pytest.raises(AssayError, match=r"mine\.yaml: base: there is no hybrid\.yaml; `base: hyb"):
        load_config("mine.yaml")
    for ask in (
        lambda: resolve("hybird", (), Quiet()),
        lambda: find(STUDY, {"runs": ["hybird", "bm25"]}),
    ):
        with pytest.raises(AssayError, match=r"hybird: no such run in .*did you mean hybrid\?"):
            ask()
    assert is_config("bm25")
    assert is_config("anything.yaml")
    assert not is_config("bm25-tarnwick-2026")
    with pytest.raises(AssayError, match="an override changes a config, and none is given"):
        resolve("bm25-tarnwick-2026", ["dataset=x"], Quiet())
