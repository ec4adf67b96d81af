"""Racing: its bounds hold in every order of small populations; a raced sweep says what it is."""

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from click.testing import CliRunner, Result
from numpy.typing import NDArray
from tools.processes import ROOT

from assay.eval.cli.main import assay
from assay.eval.running import cached_figures
from assay.eval.statistics.betting import bound_means, find_wealth
from assay.eval.studies.sweep.racing import Race, RaceRules, list_looks, run_race

POPULATIONS = (
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
    (-1.0, -1.0, 0.0, 0.0, 1.0, 1.0, 1.0),
    (0.1, 0.2, 0.1, -0.3, 0.2, 0.9, 0.1),
    (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
)


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("start", [0, 2])
def test_the_chance_to_win_against_the_truth_is_the_risk_in_every_order(
    population: tuple[float, ...], start: int
) -> None:
    drawn = np.array(list(permutations(population)))
    truth = float(np.mean(population))
    against = find_wealth(drawn, truth, len(population), 1.0, start)
    for risk in (0.5, 0.2, 0.05):
        assert np.mean(against >= -np.log(risk) + 1e-9) <= risk


def test_a_falsehood_is_found_out() -> None:
    drawn = np.array(list(permutations(POPULATIONS[0])))
    truth = float(np.mean(POPULATIONS[0]))
    shares = [
        np.mean(find_wealth(drawn[:, :5], truth + more, 7, 1.0) > -np.log(0.2)) for more in (0, 0.6)
    ]
    assert shares[0] < 0.2 < 0.6 < shares[1]


def test_a_bound_is_where_the_stake_has_grown_enough() -> None:
    drawn = np.random.default_rng(1).uniform(-0.4, 0.2, (3, 40))
    bounds = bound_means(drawn, 100, 1.0, 0.05, 5)
    assert np.all(find_wealth(drawn, bounds, 100, 1.0, 5) >= -np.log(0.05))
    assert np.all(find_wealth(drawn, bounds - 0.001, 100, 1.0, 5) < -np.log(0.05))
    assert np.all(bounds > drawn.mean(axis=1))


def race(scores: NDArray[np.float64], rules: RaceRules) -> Race:
    points, queries = scores.shape
    mixed = scores[:, np.random.default_rng(rules.seed).permutation(queries)]
    return run_race(
        points, queries, 1.0, rules, lambda places, seen: {i: mixed[i, :seen] for i in places}
    )


def test_a_point_that_wins_by_the_effect_in_few_queries_is_kept_as_often_as_promised() -> None:
    """All that tells it from the others is six queries, which an early look may not meet."""
    scores = np.full((8, 100), 0.3)
    scores[5, :6] = 1.0
    effect = float(scores[5].mean() - scores[0].mean())
    lost = sum(5 in race(scores, RaceRules(0.5, effect, seed)).drops for seed in range(200))
    assert 0 < lost <= scipy.stats.binom.ppf(0.999, 200, 0.5)


def test_bad_points_drop_out_early_and_searches_are_counted() -> None:
    scores = np.tile(np.random.default_rng(2).random(200), (12, 1))
    scores[3:] *= 0.2
    done = race(scores, RaceRules())
    assert set(done.drops) <= set(range(3, 12))
    assert len(done.drops) >= 6
    assert done.leader in (0, 1, 2)
    first, last = list_looks(200)[0], max(drop.queries for drop in done.drops.values())
    assert first < last < 100
    spent = sum(drop.queries for drop in done.drops.values())
    kept = 12 - len(done.drops)
    assert spent + kept * 200 < done.searches <= spent + kept * (200 + 100)
    for drop in done.drops.values():
        assert -1 <= drop.difference.low < drop.difference.value < drop.difference.high <= 0.05


def test_what_cannot_be_scored_is_kept_and_few_queries_are_not_raced() -> None:
    scores = np.tile(np.linspace(0, 1, 200), (6, 1))
    scores[1:] *= 0.1
    done = run_race(
        6,
        200,
        1.0,
        RaceRules(),
        lambda i, seen: {one: scores[one, :seen] for one in i if one != 4},
    )
    assert 4 not in done.drops
    assert 5 in done.drops
    assert race(scores[:, :15], RaceRules()).leader is None
    assert run_race(6, 200, 1.0, RaceRules(), lambda i, seen: {}).drops == {}


LEG = "retriever.legs.keyword"


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_REPORTS", str(tmp_path / "reports"))
    path = tmp_path / "mine.yaml"
    path.write_text(
        f"base: {ROOT}/configs/bm25.yaml\n"
        f"axes: {{{LEG}.depth: [50, 1], {LEG}.k1: [1.2, 1.5]}}\n"
        "collections: [harbourline]\n"
    )
    return path


def call(sweep: Path, *words: str, limit: str = "limit=120") -> Result:
    fixed = filter(None, (limit, "latency.queries=0", "--no-track"))
    return CliRunner().invoke(assay, ["sweep", str(sweep), *fixed, *words])


def tell(sweep: Path, *words: str) -> dict[str, Any]:
    done = call(sweep, *words, "--json")
    assert done.exit_code == 0, (done.output, done.exception)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_raced_sweep_tells_what_it_dropped_and_goes_on_where_it_was(
    sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raced = tell(sweep, "--racing", "--effect", "0.1", "--risk", "0.2")
    (about,) = raced["racing"]["collections"].values()
    assert (raced["racing"]["risk"], raced["racing"]["effect"]) == (0.2, 0.1)
    dropped = [item for item in raced["points"] if "dropped" in item]
    assert about["dropped"] == len(dropped) > 0
    assert raced["failed"] == 0
    assert raced["margins"] == []
    for item in dropped:
        assert item["dropped"]["queries"] in list_looks(about["queries"])
        assert item["dropped"]["difference"]["high"] <= 0.1
    page = Path(raced["report"]).read_text()
    assert "Not searched to the end" in page
    assert "With a chance of at most 0.2" in page

    def fail(*_: Any) -> None:
        raise AssertionError("it was searched again")

    with monkeypatch.context() as patched:
        patched.setattr(cached_figures, "score_queries", fail)
        patched.setattr(cached_figures, "search_unstored", fail)
        again = tell(sweep, "--racing", "--effect", "0.1", "--risk", "0.2")
    assert again["points"] == raced["points"]

    full = tell(sweep)
    assert full["id"] != raced["id"]
    assert full["racing"] is None
    for item, one in zip(full["points"], raced["points"], strict=True):
        assert "dropped" in one or one["measures"] == item["measures"]
        assert item["measures"]
    text = call(sweep, "--racing", "--effect", "0.1", "--risk", "0.2")
    assert "Dropped on harbourline" in text.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--risk", "0.1"), "--risk: only with --racing"),
        (("--effect", "0.1"), "--effect: only with --racing"),
        (("--racing", "--risk", "2"), "2"),
    ],
)
def test_rules_without_a_race_are_refused(sweep: Path, words: tuple[str, ...], said: str) -> None:
    done = call(sweep, *words)
    assert done.exit_code == 2
    assert said in done.output


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("measure: Tokens@10", "neither more nor less is better"),
        ("axes: {limit: [20, 30]}", "differ in limit"),
    ],
)
def test_what_cannot_be_raced_is_refused_in_a_line(sweep: Path, line: str, said: str) -> None:
    lines = [item for item in sweep.read_text().splitlines() if not item.startswith(line[:4])]
    sweep.write_text("\n".join([*lines, line]))
    done = call(sweep, "--racing", limit="")
    assert done.exit_code != 0
    assert said in str(done.exception or done.output)
    assert not (sweep.parent / "reports").exists()
