"""Tuning: what choosing settings is worth on queries that had no part in the choice."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.claims import make_claims
from samples.planned_runs import make_collection

from assay.eval.collections.collection import GoldItem, Query
from assay.eval.runs.json_form import to_json
from assay.eval.studies.comparison.query_groups import group
from assay.eval.studies.tuning.nested_cv import (
    Design,
    Queries,
    deal,
    estimate_gain,
    hold_out,
    randomise_gains,
    tune,
)
from assay.eval.studies.tuning.tuning import part
from assay.retrievers.base import AssayError


def make_queries(count, types=1):
    ids = [f"q{i}" for i in range(count)]
    return Queries(ids, [f"type {i % types}" for i in range(count)], ids, make_claims(ids))


def tune_matrix(scores, design=None, types=1):
    """Tune on a matrix of scores, row 0 being the config as given."""
    queries = make_queries(scores.shape[1], types)
    rows = [dict(zip(queries.ids, map(float, row), strict=True)) for row in scores]
    tried = [({"k": number}, row) for number, row in enumerate(rows[1:], start=1)]
    return tune("nDCG@10", rows[0], tried, queries, design or Design())


def hold_out_noise(points, queries, draws, effect):
    """Return the naive and the held-out gains of draws in which points differ by chance.

    One point, the third, is better by `effect`.
    """
    rng = np.random.default_rng(7)
    folds = deal([""] * queries, np.arange(queries), Design(repeats=3))
    naive, held = [], []
    for _ in range(draws):
        hard = rng.random(queries)
        scores = np.clip(hard + 0.2 * rng.standard_normal((points + 1, queries)), 0, 1)
        scores[3] += effect
        gains = scores - scores[0]
        naive.append(gains.mean(axis=1).max())
        held.append(hold_out(gains, folds).gains.mean())
    return np.array(naive), np.array(held)


def test_the_best_of_noise_seems_to_gain_and_gains_nothing():
    naive, held = hold_out_noise(points=30, queries=80, draws=300, effect=0.0)
    error = held.std(ddof=1) / np.sqrt(len(held))
    assert naive.mean() > 0.03
    assert abs(held.mean()) < 3 * error < 0.006


def test_noise_is_seldom_taken_for_a_gain():
    """The randomisation holds its level, which a test of the held-out scores alone does not."""
    rng = np.random.default_rng(3)
    groups = np.arange(60)
    folds = deal([""] * 60, groups, Design(repeats=3))
    taken = 0
    for _ in range(150):
        scores = rng.random((21, 60))
        taken += randomise_gains(scores - scores[0], groups, folds, flips=99) <= 0.05
    assert taken <= 15  # 7.5 expected; more than 15 has a chance of .003


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0.0, 0.05])
def test_the_interval_holds_the_gain_of_the_choice(effect):
    """That of per-query means, as though they were independent, holds it in .80 and .76."""
    rng = np.random.default_rng(11)
    groups, truth = np.arange(60), np.array([0.0, *[0.0] * 15, effect])
    found, gains_in_truth = [], []
    for seed in range(200):
        shared, own = rng.standard_normal(60), rng.standard_normal((16, 60))
        noise = np.vstack([np.zeros(60), 0.2 * (shared + own) / np.sqrt(2)])
        gains = noise + truth[:, None] * (np.arange(17) > 0)[:, None]
        folds = deal([""] * 60, groups, Design(repeats=4, seed=seed))
        chosen = hold_out(gains, folds).chosen
        gains_in_truth.append(chosen @ truth / chosen.sum())
        found.append(estimate_gain(gains, groups, folds, (-1.0, 1.0), resamples=99))
    truly = float(np.mean(gains_in_truth))
    ends = [(item.low, item.high) for item in found]
    held = sum(low <= truly <= high for low, high in ends if low is not None and high is not None)
    assert held >= 0.93 * 200


def test_an_interval_needs_six_queries_that_moved():
    gains = np.zeros((2, 40))
    gains[1, :6] = 0.5
    folds, groups = deal([""] * 40, np.arange(40), Design(repeats=2)), np.arange(40)
    found = estimate_gain(gains, groups, folds, (-1.0, 1.0), resamples=99)
    assert found.low < found.value == 6 * 0.5 / 40 < (found.high or 0)
    gains[1, 5] = 0
    found = estimate_gain(gains, groups, folds, (-1.0, 1.0))
    assert (found.value, found.low, found.high, found.n) == (5 * 0.5 / 40, None, None, 40)


def test_copies_of_queries_widen_no_interval_of_groups():
    """Four copies of each query, in one group: the interval is that of the queries."""
    gains = np.vstack([np.zeros(30), np.random.default_rng(4).normal(0.1, 0.3, 30)])
    folds, groups = deal([""] * 30, np.arange(30), Design(repeats=2)), np.arange(30)
    single = estimate_gain(gains, groups, folds, (-1.0, 1.0))
    copied = estimate_gain(*(np.tile(part, 4) for part in (gains, groups, folds)), (-1.0, 1.0))
    assert (copied.value, copied.n) == (pytest.approx(single.value), 120)
    assert copied.low == pytest.approx(single.low)
    assert copied.high == pytest.approx(single.high)


def test_a_planted_optimum_is_found_and_worth_taking():
    rng = np.random.default_rng(1)
    scores = np.clip(0.5 + 0.2 * rng.standard_normal((9, 100)), 0, 1)
    scores[4] = np.clip(scores[0] + 0.1, 0, 1)
    tuning = tune_matrix(scores)
    assert tuning.best == 3
    assert tuning.points[3].settings == {"k": 4}
    assert tuning.points[3].chosen > 90
    assert tuning.verdict == "worth taking"
    assert tuning.p <= 0.01
    assert tuning.held_out.low > 0.05
    assert tuning.held_out.value == pytest.approx(tuning.naive.value)
    assert (tuning.naive.low, tuning.naive.high) == (None, None)


def test_the_config_as_given_wins_ties():
    scores = np.array([[0.5, 0.5, 0.5, 0.5], [0.4, 0.6, 0.5, 0.5], [0.1, 0.1, 0.1, 0.1]])
    tuning = tune_matrix(np.tile(scores, 5), Design(folds=4, repeats=1))
    assert tuning.best is None
    assert tuning.naive.value == 0
    assert tuning.verdict == "nothing is better"
    same = tune_matrix(np.tile(scores[:1], (3, 5)))
    assert (same.best, same.kept, same.held_out.value, same.p) == (None, 100, 0, 1)


def test_by_hand():
    """Two folds of two queries: left of the bar the first, right of it the second.

    given: .5 .5 | .5 .5    a: .9 .9 | .4 .4    b: .3 .3 | .8 .8
    On the right b is best, which on the left loses .2; on the left a is best, which on the right
    loses .1. On all queries a is best, by .15.
    """
    gains = np.array([[0, 0, 0, 0], [0.4, 0.4, -0.1, -0.1], [-0.2, -0.2, 0.3, 0.3]])
    held = hold_out(gains, np.array([[0, 0, 1, 1]]))
    assert held.gains.tolist() == pytest.approx([-0.2, -0.2, -0.1, -0.1])
    assert held.chosen.tolist() == [0, 1, 1]
    # The folds 0 1 | 0 1 (first and third, second and fourth query) see both halves, and take a.
    twice = hold_out(gains, np.array([[0, 0, 1, 1], [0, 1, 0, 1]]))
    assert twice.gains.tolist() == pytest.approx([0.1, 0.1, -0.1, -0.1])
    assert twice.chosen.tolist() == [0, 3, 1]
    tuning = tune_matrix(gains + 0.5, Design(folds=2, repeats=1))
    assert tuning.best == 0
    assert tuning.naive.value == pytest.approx(0.15)
    assert [item.mean for item in tuning.points] == pytest.approx([0.65, 0.55])
    assert tuning.given.value == pytest.approx(0.5)


def test_the_randomisation_is_exact_on_a_small_case():
    """With one point the choice is whether to take it; all 2^4 signs can be counted."""
    gains = np.array([[0.0] * 4, [0.3, 0.3, 0.3, 0.3]])
    folds = np.array([[0, 0, 1, 1]])
    # The gain is .3 for all signs plus. Of the 16, only that one reaches it.
    p = randomise_gains(gains, np.arange(4), folds, flips=4000)
    assert p == pytest.approx(1 / 16, abs=0.012)
    # In two groups there are four signs.
    p = randomise_gains(gains, np.array([0, 0, 1, 1]), folds, flips=4000)
    assert p == pytest.approx(1 / 4, abs=0.03)


def test_the_same_call_returns_the_same_figures():
    scores = np.random.default_rng(5).random((6, 30))
    one = tune_matrix(scores, types=3)
    assert one == tune_matrix(scores, types=3)
    assert one != tune_matrix(scores, Design(seed=9), types=3)
    assert json.loads(json.dumps(to_json(one)))["choices"] == 100


def test_too_few_groups_are_refused():
    with pytest.raises(AssayError, match="4 queries in 4 groups cannot be parted into 5 folds"):
        tune_matrix(np.zeros((2, 4)))


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), min_size=5, max_size=60),
    st.integers(2, 5),
    st.integers(0, 99),
)
def test_folds_keep_groups_whole_and_sizes_even(drawn, folds, seed):
    numbers = {name: i for i, name in enumerate(dict.fromkeys(name for name, _ in drawn))}
    groups = np.array([numbers[name] for name, _ in drawn])
    types = [f"type {kind}" for _, kind in drawn]
    for row in deal(types, groups, Design(folds, 2, seed)):
        assert all(len(set(row[groups == name].tolist())) == 1 for name in numbers.values())
        sizes = [int((row == fold).sum()) for fold in range(folds)]
        largest = max(Counter(groups.tolist()).values())
        assert max(sizes) - min(sizes) <= largest * len(set(types))


def test_queries_of_the_same_words_or_documents_belong_together():
    collection = make_collection(5)
    texts = ("What is it?", "what  is IT?", "a", "b", "c")
    queries = [Query(f"q{i}", text) for i, text in enumerate(texts)]
    assert group(queries, collection, "text") == ["q0", "q0", "q2", "q3", "q4"]
    shared = GoldItem("q1", "d3", "d3", 0, 5, 1)
    irrelevant = GoldItem("q2", "d4", "d4", 0, 5, 0)
    gold = {
        **collection.gold,
        "q1": (*collection.gold["q1"], shared),
        "q2": (*collection.gold["q2"], irrelevant),
    }
    linked = type(collection)(**{**vars(collection), "gold": gold})
    assert group(queries, linked, "document") == ["q0", "q0", "q2", "q0", "q4"]


def test_folds_follow_what_the_verdict_is_to_be_on():
    """Two questions on each of 30 documents, of a collection of 30 or of 300."""
    plain = make_collection(60)
    gold = {
        id_: tuple(replace(item, doc_id=f"d{i // 2}") for item in items)
        for i, (id_, items) in enumerate(plain.gold.items())
    }
    all_touched = replace(plain, documents=plain.documents[:30], gold=gold)
    sample = replace(plain, gold=gold, documents=plain.documents * 5)
    by_text = part(plain.queries, all_touched, 5)
    assert (len(set(by_text.groups)), by_text.claims.leading) == (60, "questions")
    by_document = part(plain.queries, sample, 5)
    assert (len(set(by_document.groups)), by_document.claims.leading) == (30, "documents")
    assert len(set(part(plain.queries, sample, 31).groups)) == 60
    asked = part(plain.queries, sample, 5, "text")
    assert len(set(asked.groups)) == 60
    assert asked.claims.sentence.startswith("Cannot tell beyond these documents: settings were ")
    assert part(plain.queries, all_touched, 5, "document").claims.leading == "documents"
