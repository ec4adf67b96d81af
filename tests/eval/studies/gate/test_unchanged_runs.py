"""Runs that did not change on average: how the gate judges them, and the margins they set."""

import math

import numpy as np
import pytest

from assay.eval.runs.summary.means import estimate_changes
from assay.eval.statistics.max_t import randomise_drops
from assay.eval.studies.gate.measure_verdicts import decide
from assay.eval.studies.gate.settings import GateSettings
from assay.eval.studies.gate.unchanged_runs import find_margins, resample

SETTINGS = GateSettings(measures={"nDCG@10": 0.02, "MRR@10": 0.02})


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(1)
    reciprocal = 1 / rng.integers(1, 11, 80)
    return np.column_stack([reciprocal**0.5, reciprocal])


def judge(base, head, margins):
    level = SETTINGS.false_alarms
    p_values = randomise_drops(head - base, level).p_values
    return [
        decide(estimate_changes(name, (head - base)[:, i]), p_values[i], effect, margins[i], level)
        for i, (name, effect) in enumerate(SETTINGS.measures.items())
    ]


def test_unchanged_runs_hardly_ever_fail_and_mostly_pass(scores):
    margins = find_margins(scores, SETTINGS)
    for moved, passes in ((0.0, 200), (0.1, 150)):
        found = [judge(*resample(scores, moved, seed), margins) for seed in range(200)]
        assert sum("regression" in verdicts for verdicts in found) < 4
        assert sum(set(verdicts) == {"pass"} for verdicts in found) >= passes
    found = [judge(*resample(scores, 1.0, seed), margins) for seed in range(200)]
    assert sum("regression" in verdicts for verdicts in found) < 4


def test_drops_as_large_as_the_margin_hardly_ever_pass(scores):
    margins = find_margins(scores, SETTINGS)
    passed = [0, 0]
    for seed in range(200):
        base, head = resample(scores, 0.2, seed)
        passed[0] += judge(base, head - margins[0], margins)[0] == "pass"
        is_lost = np.random.default_rng(seed).random((80, 1)) < margins[0] / scores[:, 0].mean()
        passed[1] += judge(base, np.where(is_lost, 0.0, head), margins)[0] == "pass"
    assert max(passed) / 200 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 200)


def test_margins_follow_the_number_of_queries(scores):
    """Four times the queries exclude half the drop; a floor and a third of the mean bound it."""
    few, many = (find_margins(np.tile(scores, (times, 1)), SETTINGS) for times in (1, 4))
    assert many == pytest.approx([margin / 2 for margin in few], rel=0.1)
    assert find_margins(np.tile(scores, (200, 1)), SETTINGS) == [0.02, 0.02]
    exact = SETTINGS.model_copy(update={"assumed_moves": 0.0})
    assert find_margins(scores, exact) == [0.02, 0.02]
    assert find_margins(scores[:8], SETTINGS) == pytest.approx(list(scores[:8].mean(axis=0) / 3))
    assert find_margins(0 * scores, SETTINGS) == [0.02, 0.02]


def test_nine_in_ten_unchanged_runs_exclude_the_margins(scores):
    """Which are of other seeds than those that the margins are made from."""
    margins = np.array(find_margins(scores, SETTINGS))
    kept = 0
    for seed in range(1000, 1400):
        base, head = resample(scores, SETTINGS.assumed_moves, seed)
        error = (head - base).std(axis=0, ddof=1) / np.sqrt(80)
        kept += bool(np.all((head - base).mean(axis=0) - 1.99 * error > -margins))
    assert kept / 400 == pytest.approx(0.9, abs=0.05)


def test_resamples_change_nothing_on_average(scores):
    trials = [resample(scores, 1.0, seed) for seed in range(800)]
    changes = [head[:, 0] - base[:, 0] for base, head in trials]
    assert float(np.mean(changes)) == pytest.approx(0, abs=0.005)
    base, head = resample(scores, 0.0, 1)
    assert (base == head).all()
