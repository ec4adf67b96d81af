"""A model's grades beside people's: agreement, the order of runs, and estimates from both."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from samples.planned_runs import make_collection, make_run

from assay.eval.collections.authoring.worksheet import Pair
from assay.eval.collections.collection import GoldItem
from assay.eval.collections.judgment_source import describe_models
from assay.eval.report.renderers.markdown import render
from assay.eval.statistics.prediction_powered import estimate_powered_mean
from assay.eval.statistics.rank_correlation import correlate, cross_tabulate, estimate_tau
from assay.eval.studies.judging.model_grades import make_items
from assay.eval.studies.judging.model_judge import examine
from assay.eval.studies.judging.prompts import Scale
from assay.eval.studies.judging.report import JudgedPool, report
from assay.eval.studies.judging.tables import list_judged
from assay.retrievers.services.ledger import CostLedger

COUNT = 40
COLLECTION = make_collection(COUNT)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three runs, each clearly better than the next: the answer stands first, second, sixth."""
    folder = tmp_path_factory.mktemp("runs")
    return [
        make_run(folder, name, [rank] * COUNT, collection=COLLECTION)
        for name, rank in (("good", 1), ("fair", 2), ("poor", 6))
    ]


def judge(runs, wrong=0, judged=COUNT, backwards=False):
    """Return how a model stands that finds another passage relevant for `wrong` queries, where
    people judged the first `judged` queries. `backwards` gives the judgments in the other order.

    For each query there are two pairs: what answers, and what the poor run alone has first.
    """
    pairs = list_judged(COLLECTION, None, 0)
    first = [hits[0].chunk.doc_id for hits in runs[2].joined.values()]
    others = [
        Pair(pair.query_id, pair.query, "", doc, "", 0, len(COLLECTION.texts[doc]), "x")
        for pair, doc in zip(pairs, first, strict=True)
    ]
    people = {pair.digest: 1 for pair in pairs[:judged]} | {pair.digest: 0 for pair in others}
    model = {pair.digest: int(i >= wrong) for i, pair in enumerate(pairs)}
    model |= {pair.digest: int(i < wrong) for i, pair in enumerate(others)}
    twice = [(int(i >= wrong), 1) for i in range(10)]
    items = make_items([*pairs, *others][:: -1 if backwards else 1], COLLECTION)
    return examine("model m, prompt p", items, people, model, twice, 0, runs, "MRR@10")


def tell(found):
    job = SimpleNamespace(scale=Scale(3, 3))
    return report(JudgedPool(job, found, 0, {}, CostLedger(), [], False))


def test_a_model_that_judges_as_people_do_may_be_trusted(runs):
    found = judge(runs)
    assert found.verdict == "may be trusted"
    assert found.agreement.kappa == found.agreement.same == 1
    assert found.confusion == [[COUNT, 0], [0, COUNT]]
    assert (found.again.n, found.again.same) == (10, 1)
    assert found.systems.tau.low == 1
    assert [mean.people.value for mean in found.systems.means] == [1, 0.5, pytest.approx(1 / 6)]
    assert "people separate 3 of 3 pairs of runs, and the model reverses 0" in found.reason
    assert all(item.powered is None for item in found.systems.means), "all have people's grades"


def test_one_that_turns_the_order_round_must_not_be(runs):
    found = judge(runs, wrong=COUNT)
    assert found.verdict == "must not be trusted"
    assert found.agreement.kappa == -1
    assert any(pair.reversed for pair in found.systems.pairs)
    page = render(tell(found))
    assert "For ranking systems: must not be trusted: " in page
    assert "| people 1 | 40 | 0 |" in page
    assert "reversed" in page


def test_few_of_peoples_grades_with_many_of_the_model(runs):
    """The model errs on the last queries only, which nobody has judged: it is not found out."""
    found = judge(runs, wrong=4, judged=20)
    assert (found.systems.queries, found.systems.more) == (20, 20)
    mean = found.systems.means[0]
    assert (mean.people.value, mean.powered.n, mean.powered.predicted) == (1, 20, 20)
    assert "20 more with the model's alone" in render(tell(found))


def test_the_order_of_judgments_makes_no_difference(runs):
    one, other = (judge(runs, 30, 20, backwards).systems.means[0] for backwards in (False, True))
    assert (one.people, one.model) == (other.people, other.model)


def test_without_runs_or_people_nothing_is_shown(runs):
    alone = examine("model m", {}, {}, {"a": 1}, [], 0, runs, "nDCG@10")
    assert (alone.verdict, alone.agreement, alone.systems) == ("not shown either way", None, None)
    bare = examine("model m", {}, {"a": 1, "b": 0}, {"a": 1, "b": 1}, [], 0, [], "nDCG@10")
    assert bare.agreement.same == 0.5
    assert "name two runs" in bare.reason
    assert "not shown either way" in render(tell(bare))


# τ


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=7))
def test_tau_is_that_of_scipy(values):
    one, other = np.array(values, dtype=float).T
    mine = correlate(one[None], other[None])[0]
    assert mine == pytest.approx(scipy.stats.kendalltau(one, other).statistic, nan_ok=True)


def test_the_interval_of_tau_is_as_wide_as_the_queries_disagree():
    rng = np.random.default_rng(1)
    scores = rng.random((50, 4)) + np.arange(4) * 0.2
    noise = rng.random((50, 4)) * 2
    same, near = estimate_tau(scores, scores), estimate_tau(scores, scores + noise)
    assert (same.value, same.low, same.high, same.n) == (1, 1, 1, 50)
    assert near.low < near.high
    assert estimate_tau(scores * 0, scores) is None
    with pytest.raises(ValueError, match="same cases"):
        estimate_tau(scores, scores[:9])
    assert cross_tabulate([(0, 1), (0, 1), (2, 2)], 2) == [[0, 2, 0], [0, 0, 0], [0, 0, 1]]


# Prediction-powered


def test_a_powered_mean_worked_by_hand():
    """Labelled (1, 1), (0, 0), others 1, 1, 0, 0: cov = .5, var of all six = .3, n / N = .5.

    λ = .5 / (1.5 · .3) = 1.11, so 1. The mean is .5 + (.5 - .5), and its variance 0 / 2 + .3 / 4.
    """
    found = estimate_powered_mean([1, 0], [1, 0], [1, 1, 0, 0])
    assert (found.value, found.weight, found.n, found.predicted) == (0.5, 1, 2, 4)
    assert found.high - found.value == pytest.approx(12.706 * (0.3 / 4) ** 0.5, rel=1e-3)
    # Predictions that say nothing are left out: what remains is Student's interval.
    plain = estimate_powered_mean([1, 0, 1, 0], [0.5] * 4, [0.5] * 9)
    assert (plain.weight, plain.value) == (0, 0.5)
    assert plain.high == pytest.approx(0.5 + 3.182 * (1 / 3 / 4) ** 0.5, rel=1e-3)
    # One too high by .25 throughout is put right: .4 + (.75 - .65), where λ is 1.
    shifted = estimate_powered_mean([0.2, 0.6], [0.45, 0.85], [0.5, 1.0, 0.5, 1.0])
    assert shifted.weight == pytest.approx(min(1, 0.08 / (1.5 * np.var(
        [0.45, 0.85, 0.5, 1, 0.5, 1], ddof=1))))  # fmt: skip
    assert shifted.value == pytest.approx(0.4 + shifted.weight * (0.75 - 0.65))
    for wrong in (([1], [1], [1]), ([1, 0], [1, 0], []), ([1, 0], [1], [1])):
        with pytest.raises(ValueError, match="two cases"):
            estimate_powered_mean(*wrong)


@pytest.mark.parametrize(("n", "slope"), [(20, 0.6), (60, 0.6), (60, 0.0)])
def test_a_powered_interval_holds_the_truth_though_the_judge_is_biased(n, slope):
    """True scores are uniform; the judge's are too high by .3 at the lower end, or say nothing."""
    rng = np.random.default_rng(n)
    held, widths = 0, []
    for _ in range(1000):
        true = rng.random(n + 300)
        guess = np.clip(slope * true + (1 - slope) * 0.8 + rng.normal(0, 0.1, n + 300), 0, 1)
        found = estimate_powered_mean(true[:n].tolist(), guess[:n].tolist(), guess[n:].tolist())
        held += found.low <= 0.5 <= found.high
        widths.append((found.high - found.low) / (4 * true[:n].std(ddof=1) / n**0.5))
    assert held >= 930
    assert np.mean(widths) < (0.75 if slope else 1.1), "beside people's grades alone"


@pytest.mark.parametrize(("n", "least"), [(10, 0.70), (30, 0.86), (100, 0.90)])
def test_of_few_skewed_scores_an_interval_promises_too_much(n, least):
    """Four of five true scores are 0. Student's interval, of people's grades alone, holds the mean
    too seldom then, and the powered one is not much worse.
    """
    rng = np.random.default_rng(n)
    powered, alone = 0, 0
    for _ in range(1000):
        true = np.where(rng.random(n + 300) < 0.8, 0, rng.random(n + 300))
        guess = np.clip(true + rng.normal(0, 0.1, n + 300), 0, 1)
        both = (true[:n].tolist(), guess[:n].tolist())
        found = estimate_powered_mean(*both, guess[n:].tolist())
        powered += found.low <= 0.1 <= found.high
        plain = estimate_powered_mean(both[0], [0] * n, [0])
        alone += plain.low <= 0.1 <= plain.high
    assert least <= powered / 1000 < 0.95
    assert powered > alone - 50


def test_the_share_of_a_models_judgments():
    item = GoldItem("q", "d", "d", 0, 1, 1)
    by_model = GoldItem("q", "e", "e", 0, 1, 1, judged_by="model m, prompt p")
    assert describe_models([[item], [item]]) == ""
    assert describe_models([[item, by_model], [item, item]]) == (
        "25.0 % of the judgments used by these measures were made by a language model, not by "
        "people (1 of 4; model m, prompt p: 1)"
    )
