"""The self-test of the gate: that it holds, and that it can fail."""

import numpy as np
import pytest

from assay.eval.studies.gate import calibration as gate_check
from assay.eval.studies.gate.settings import GateSettings
from assay.retrievers.base import Quiet

SETTINGS = GateSettings(measures={"nDCG@10": 0.02, "MRR@10": 0.02})


@pytest.fixture(scope="module")
def scores() -> np.ndarray:
    rng = np.random.default_rng(1)
    reciprocal = 1 / rng.integers(1, 11, 80)
    return np.column_stack([reciprocal**0.5, reciprocal])


def test_the_gate_keeps_what_it_states(scores: np.ndarray) -> None:
    result = gate_check.check(scores, SETTINGS, 200, Quiet())
    assert result.holds
    assert [item.moved for item in result.unchanged] == list(gate_check.MOVED)
    assert result.unchanged[0].alarms == 0
    assert sum(item.alarms for item in result.unchanged) > 0
    stated = [item.stated for item in result.planted]
    assert stated == pytest.approx(gate_check.POWERS, abs=0.05)
    assert result.planted[0].found < result.planted[-1].found
    assert result.as_json()["holds"] is True


def test_the_same_call_gives_the_same_figures(scores: np.ndarray) -> None:
    first, second = (gate_check.check(scores, SETTINGS, 50, Quiet()) for _ in range(2))
    assert first == second


def test_a_lax_gate_fails(scores: np.ndarray) -> None:
    lax = SETTINGS.model_copy(update={"false_alarms": 0.1})
    result = gate_check.check(scores, lax, 200, Quiet())
    assert not result.holds
    assert any(not item.holds for item in result.unchanged)


def test_a_gate_that_overstates_its_power_fails(scores: np.ndarray, monkeypatch) -> None:
    monkeypatch.setattr(gate_check.DropPower, "state", lambda _, drop: min(1.0, 30 * drop))
    result = gate_check.check(scores, SETTINGS, 200, Quiet())
    assert any(not item.holds for item in result.planted)


def test_resamples_change_nothing_on_average_and_drops_are_of_known_size(
    scores: np.ndarray,
) -> None:
    def mean(moved: float, lost: float) -> float:
        trials = [gate_check._resample(scores, moved, lost, seed) for seed in range(800)]
        return float(np.mean([head[:, 0] - base[:, 0] for base, head in trials]))

    assert mean(1.0, 0.0) == pytest.approx(0, abs=0.005)
    assert mean(0.1, 0.2) == pytest.approx(-0.2 * scores[:, 0].mean(), abs=0.005)
    base, head = gate_check._resample(scores, 0.0, 0.0, 1)
    assert (base == head).all()


def test_too_few_queries_show_no_drop(scores: np.ndarray) -> None:
    result = gate_check.check(scores[:5], SETTINGS, 50, Quiet())
    assert result.holds
    assert result.planted == result.alternatives == ()
