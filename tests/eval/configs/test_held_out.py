"""The questions that a project holds out are read by no other command."""

from pathlib import Path

import pytest

from assay import run
from assay.eval.configs.config import load_config
from assay.eval.configs.held_out import check_open, suggest_look
from assay.retrievers.base import AssayError


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty working folder, where the environment names nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_DATASET", raising=False)


def hold_out(name):
    Path("assay.toml").write_text(f'held_out = "{name}"\n')


@pytest.mark.parametrize(
    ("held_out", "closed", "open_"),
    [
        ("tarnwick:test", ["tarnwick", "tarnwick:test", "tarnwick:test_all"], ["tarnwick:dev"]),
        ("tarnwick:test", ["tarnwick:development"], ["tarnwick:dev_all", "harbourline"]),
        ("harbourline:held-out", ["harbourline", "harbourline:all"], ["harbourline:development"]),
        ("harbourline", ["harbourline:development"], ["tarnwick", "no such collection"]),
    ],
)
def test_what_may_share_a_question_is_closed(held_out, closed, open_):
    hold_out(held_out)
    for name in closed:
        with pytest.raises(AssayError, match=r"assay\.toml holds out, which only `assay compare"):
            check_open(name)
    for name in open_:
        check_open(name)


def test_without_a_project_all_is_open():
    check_open("harbourline")
    assert suggest_look("bm25", "hybrid") == []


def test_configs_functions_and_files_are_held_to_it():
    hold_out("harbourline:held-out")
    with pytest.raises(AssayError, match="allowed: harbourline:development"):
        load_config("bm25", ["dataset=harbourline"])
    with pytest.raises(AssayError, match="dataset: harbourline has questions"):
        run(lambda query, k: [], collection="harbourline", track=False)
    assert load_config("bm25", ["dataset=harbourline:development"]).depth == 100
    assert suggest_look("bm25", "my config.yaml") == ["compare bm25 'my config.yaml' --held-out"]
