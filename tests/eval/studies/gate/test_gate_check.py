"""The self-test of the gate: that it holds, and that it can fail."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from assay.eval.studies.gate import calibration as gate_check
from assay.eval.studies.gate.settings import GateSettings
from assay.eval.studies.gate.unchanged_runs import find_margins, resample
from assay.retrievers.base import Quiet

SETTINGS = GateSettings(measures={"nDCG@10": 0.02, "MRR@10": 0.02})


@pytest.fixture(scope="module")
def scores() -> np.ndarray:
    rng = np.random.default_rng(1)
    reciprocal = 1 / rng.integers(1, 11, 80)
    return np.column_stack([reciprocal**0.5, reciprocal])


FORESEE = gate_check._foresee


@pytest.fixture(scope="module", autouse=True)
def foreseen_once() -> Iterator[None]:
    """What power the gate states after a run, most checks here ask of the same runs."""
    kept: dict[tuple[bytes, bytes, str], Any] = {}

    def foresee_once(base: np.ndarray, head: np.ndarray, settings: GateSettings) -> Any:
        key = (base.tobytes(), head.tobytes(), settings.model_dump_json())
        if key not in kept:
            kept[key] = FORESEE(base, head, settings)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate_check, "_foresee", foresee_once)
        yield


def test_the_gate_keeps_what_it_states(scores: np.ndarray) -> None:
    result = gate_check.check(scores, SETTINGS, 200, Quiet())
    assert result.holds
    assert [item.moved for item in result.unchanged] == list(gate_check.MOVED)
    assert result.unchanged[0].alarms == 0
    assert sum(item.alarms for item in result.unchanged) > 0
    for kind in gate_check.KINDS:
        planted = [item for item in result.planted if item.kind == kind]
        assert [item.stated for item in planted] == pytest.approx(gate_check.POWERS, abs=0.05)
        assert planted[0].found < planted[-1].found
    assert [item.kind for item in result.at_margin] == list(gate_check.KINDS)
    assert result.unchanged[0].passes == 200
    assert result.unchanged[1].passes > 150
    assert result.as_json()["holds"] is True


def test_the_same_call_gives_the_same_figures(scores: np.ndarray, monkeypatch) -> None:
    first = gate_check.check(scores, SETTINGS, 10, Quiet())
    monkeypatch.setattr(gate_check, "_foresee", FORESEE)
    assert gate_check.check(scores, SETTINGS, 10, Quiet()) == first


def test_a_lax_gate_fails(scores: np.ndarray) -> None:
    lax = SETTINGS.model_copy(update={"false_alarms": 0.1})
    result = gate_check.check(scores, lax, 100, Quiet())
    assert not result.holds
    assert any(not item.holds for item in result.unchanged)


def test_a_gate_that_overstates_its_power_fails(scores: np.ndarray, monkeypatch) -> None:
    monkeypatch.setattr(gate_check.PowerCurve, "state", lambda _, drop: min(1.0, 30 * drop))
    result = gate_check.check(scores, SETTINGS, 50, Quiet())
    assert any(not item.holds for item in result.planted)


def test_a_gate_that_passes_everything_fails(scores: np.ndarray, monkeypatch) -> None:
    monkeypatch.setattr(gate_check, "decide", lambda *_: "pass")
    result = gate_check.check(scores, SETTINGS, 20, Quiet())
    assert not any(item.holds for item in result.at_margin)
    assert not result.holds


def test_margins_follow_the_number_of_queries(scores: np.ndarray) -> None:
    """Four times the queries exclude half the drop; a floor and a third of the mean bound it."""
    few, many = (find_margins(np.tile(scores, (times, 1)), SETTINGS) for times in (1, 4))
    assert many == pytest.approx([margin / 2 for margin in few], rel=0.1)
    assert find_margins(np.tile(scores, (200, 1)), SETTINGS) == [0.02, 0.02]
    exact = SETTINGS.model_copy(update={"assumed_moves": 0.0})
    assert find_margins(scores, exact) == [0.02, 0.02]
    assert find_margins(scores[:8], SETTINGS) == pytest.approx(list(scores[:8].mean(axis=0) / 3))
    assert find_margins(0 * scores, SETTINGS) == [0.02, 0.02]


def test_nine_in_ten_unchanged_runs_exclude_the_margins(scores: np.ndarray) -> None:
    """Which are of other seeds than those that the margins are made from."""
    margins = np.array(find_margins(scores, SETTINGS))
    kept = 0
    for seed in range(1000, 1400):
        base, head = resample(scores, SETTINGS.assumed_moves, 0.0, seed)
        error = (head - base).std(axis=0, ddof=1) / np.sqrt(80)
        kept += bool(np.all((head - base).mean(axis=0) - 1.99 * error > -margins))
    assert kept / 400 == pytest.approx(0.9, abs=0.05)


def test_resamples_change_nothing_on_average_and_drops_are_of_known_size(
    scores: np.ndarray,
) -> None:
    def mean(moved: float, lost: float) -> float:
        trials = [resample(scores, moved, lost, seed) for seed in range(800)]
        return float(np.mean([head[:, 0] - base[:, 0] for base, head in trials]))

    assert mean(1.0, 0.0) == pytest.approx(0, abs=0.005)
    assert mean(0.1, 0.2) == pytest.approx(-0.2 * scores[:, 0].mean(), abs=0.005)
    base, head = resample(scores, 0.0, 0.0, 1)
    assert (base == head).all()


def test_too_few_queries_show_no_drop(scores: np.ndarray) -> None:
    result = gate_check.check(scores[:5], SETTINGS, 50, Quiet())
    assert result.holds
    assert result.planted == result.alternatives == ()
