"""A metric of ragas beside a measure: over which queries, how correlated, where furthest apart."""

import pytest
from samples.planned_runs import make_run

from assay.eval.runs.json_form import to_json
from assay.eval.studies.ragas.beside import SHOWN, Disagreement, compare, correlate
from assay.eval.studies.ragas.metrics import METRICS
from assay.eval.studies.ragas.scores import Scores, is_score

KNOWN = {metric.name: metric for metric in METRICS}


def pairs(*scores):
    return [Disagreement("q", "?", *pair) for pair in scores]


def test_both_means_are_over_the_queries_that_ragas_scored(tmp_path):
    run = make_run(tmp_path, "planned", [1, 1, 0, 0])
    scores = Scores(KNOWN["ContextRecall"], {"q0": 0.5, "q1": "a", "q2": 0.5, "q3": "a"})
    (item,) = compare(run, [scores], 5)
    assert (item.mean.value, item.mean.n) == (0.5, 2)
    assert (item.measure_mean.value, item.measure_mean.n) == (0.5, 2)
    assert item.differ == 2
    assert to_json(item)["missing"] == {"a": 2}
    assert to_json(item)["queries"] == {"q0": 0.5, "q2": 0.5}


def test_the_furthest_apart_come_first_and_equal_ones_not_at_all(tmp_path):
    count = SHOWN + 5
    run = make_run(tmp_path, "planned", [1] * count)
    values = {f"q{i}": 1 - i / 100 for i in range(count)}
    values["q1"] = 1 - 1e-10  # what ragas adds to a denominator is no difference
    (item,) = compare(run, [Scores(KNOWN["ContextRecall"], values)], 5)
    assert item.differ == count - 2
    assert [gap.query for gap in item.disagreements] == [
        f"q{i}" for i in range(count - 1, count - 1 - SHOWN, -1)
    ]


def test_tau_is_kendalls_b():
    assert correlate(pairs((0, 0), (0.5, 0.1), (1, 1))) == pytest.approx(1)
    assert correlate(pairs((0, 1), (0.5, 0.5), (1, 0))) == pytest.approx(-1)
    # Of 3 pairs one is concordant, one discordant, one tied on one side: 0 of sqrt(3 * 2).
    assert correlate(pairs((1, 1), (2, 2), (3, 1))) == pytest.approx(0)
    assert correlate(pairs((0.2, 0), (0.2, 1))) is None
    assert correlate(pairs((1 - 1e-10, 0), (1, 1))) is None


def test_only_numbers_from_0_to_1_are_scores():
    assert all(map(is_score, (0, 1 + 1e-9)))
    assert not any(map(is_score, (float("nan"), 1.5, -0.1)))
