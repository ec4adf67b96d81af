"""`benchmarks.synthetic_questions`: its figures worked by hand, and all of it on a small folder."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from doubles.language_model_server import KEY, LanguageModelServer
from samples.scripted_questions import write
from tools.own_cache import make_cache

from assay.eval.studies.ingestion.authoring import author_folder
from assay.retrievers.base import AssayError
from benchmarks.synthetic_questions import estimate_tau, halve, main

ROOT = Path(__file__).parents[4]


def test_tau_is_that_of_the_orders_of_means() -> None:
    means = np.array([0.1, 0.2, 0.3, 0.4])
    ordered = np.tile(means, (20, 1))
    swapped = np.tile(means[[1, 0, 2, 3]], (30, 1))
    found = estimate_tau(ordered, swapped)
    assert (found.value, found.low, found.high) == pytest.approx((4 / 6,) * 3)  # 5 of 6 pairs
    assert found.n == 20
    assert estimate_tau(ordered, ordered[:, ::-1]).value == pytest.approx(-1)
    assert halve(ordered) == pytest.approx(1)
    assert halve(ordered[:1]) is None
    with pytest.raises(AssayError, match="score alike"):
        estimate_tau(ordered, np.ones((9, 4)))


def test_the_interval_holds_what_chance_makes_of_few_queries() -> None:
    chance = np.random.default_rng(3)
    noise = [chance.normal(size=(15, 6)) + np.arange(6) * 0.2 for _ in range(2)]
    found = estimate_tau(*noise)
    assert found.low < found.value < found.high
    assert found.high - found.low > 0.4


def test_all_of_it_with_a_scripted_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("openai", reason="needs the extra `openai`")
    docs, table = ROOT / "examples/allotment", ROOT / "examples/questions.csv"
    monkeypatch.setenv("ASSAY_CACHE", str(make_cache(tmp_path)))
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("ASSAY_TRUST", "1")  # the card lies outside and names the documents here
    author_folder(docs, table, None, tmp_path / "plots", force=False)
    with LanguageModelServer(write) as server:
        asked = ("--provider", "openai", "--base-url", f"{server.url}/v1", "--number", "7")
        pipelines = ("--pipelines", "bm25", "semantic", "--json")
        arguments = ["synthetic_questions", str(tmp_path / "plots"), *asked, *pipelines]
        monkeypatch.setattr(sys, "argv", arguments)
        main()
    (found,) = json.loads(capsys.readouterr().out)
    assert found["asked"] == 7
    assert found["written"] >= 4
    assert found["real"] == 6
    assert set(found["means"]) == {"bm25", "semantic"}
    assert found["tau"]["value"] in (-1, 1)
