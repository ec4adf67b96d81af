"""One pipeline for several collections: when it is shipped, and what is said of each."""

import pytest
from samples.choices import make_choice
from samples.claims import make_claims

from assay.eval.runs.json_form import to_json
from assay.eval.statistics.estimates import Estimate
from assay.eval.studies.comparison.collections import CollectionEffect, Collections
from assay.eval.studies.comparison.differences import Contrast, judge_family
from assay.eval.studies.tuning.candidate_search import average
from assay.eval.studies.tuning.candidates import TextFacts
from assay.eval.studies.tuning.shared_choice import SharedChoice

QUESTIONS = [f"q{i}" for i in range(60)]


def make_effects(gains):
    """Return the effect on a collection for each gain, which most of its questions have."""
    found = []
    for i, gain in enumerate(gains):
        before = {id_: 0.4 + 0.001 * place for place, id_ in enumerate(QUESTIONS)}
        after = {id_: value + gain * (place_of(id_) % 4 > 0) for id_, value in before.items()}
        contrast = Contrast("nDCG@10", "", before, after)
        (headline,) = judge_family([contrast])
        variance = max(float(contrast.differences.var()) / 60, 1e-6)
        traits = {"documents": 10.0 * i}
        found.append(CollectionEffect(f"c{i}", headline, make_claims(QUESTIONS), traits, variance))
    return tuple(found)


def place_of(id_):
    return int(id_[1:])


def make_shared(*gains, bm25=(0.3, 0.3, 0.3)):
    choice = make_choice(0.2)
    over = {
        "base": Collections(("hybrid", "the best"), make_effects(gains)),
        "bm25": Collections(("BM25 alone", "the best"), make_effects(bm25[: len(gains)])),
    }
    return SharedChoice(choice.config, choice.chosen, (choice,) * len(gains), over)


def test_what_is_better_in_the_mean_is_shipped_with_what_to_expect_of_a_new_collection():
    found = make_shared(0.2, 0.21, 0.19)
    assert found.ships
    assert found.conclusion.startswith("Ship hybrid with context headings: over hybrid it changes ")
    assert "in the mean of 3 collections, on questions that had no part" in found.conclusion
    assert "The best is better on each of them." in found.conclusion
    assert "On a new collection: between +0.1" in found.conclusion
    assert to_json(found)["over"]["base"]["new_collection"]["n"] == 3


def test_what_is_better_on_each_of_two_is_shipped_though_their_mean_is_too_wide():
    found = make_shared(0.1, 0.3)
    assert found.over["base"].verdict == ""
    assert found.ships
    assert "The best is better on each of them. Nothing can be foreseen" in found.conclusion


def test_where_it_is_worse_on_one_collection_that_is_said_and_nothing_is_hidden_by_a_mean():
    found = make_shared(0.3, -0.2, 0.3)
    assert not found.ships
    assert found.conclusion.startswith("Keep hybrid: nothing is shown to be better for all. ")
    assert "The best is better on c0 and c2, and worse on c1." in found.conclusion
    many = make_shared(*[0.3] * 9, -0.05, bm25=[0.3] * 10)
    assert many.ships
    assert "and worse on c9." in many.conclusion
    assert "They differ in documents" in many.conclusion
    assert "Choose for c9 apart." in many.conclusion


def test_without_a_shown_gain_the_config_is_kept():
    same = make_shared(0.0, 0.0, 0.0)
    assert not same.ships
    assert same.shipped is same.config
    assert "On none of them alone is a difference shown." in same.conclusion
    worse = make_shared(0.0, -0.2, 0.0)
    assert "The best is shown to be worse on c1, and better on none." in worse.conclusion
    bm25 = make_shared(0.2, 0.2, 0.2, bm25=(0.0, 0.0, 0.0))
    assert "In the mean it is not shown to be better than BM25 alone" in bm25.conclusion


def test_the_mean_over_collections_has_the_interval_of_independent_samples():
    one, two = Estimate(0.4, 0.2, 0.5, 10), Estimate(0.6, 0.4, 0.7, 30)
    found = average([one, two])
    assert (found.value, found.n) == (0.5, 40)
    assert found.low == pytest.approx(0.5 - 0.2 / 2**0.5)
    assert found.high == pytest.approx(0.5 + 0.1 / 2**0.5)
    assert average([one]) is one


def test_a_candidate_applies_where_one_collection_allows_it_but_contexts_must_be_with_all():
    bare = TextFacts(cut=False, parted=False, headed=False, shipped=False, unread=0)
    full = TextFacts(cut=True, parted=True, headed=True, shipped=True, unread=3)
    assert TextFacts.join([bare, full]) == TextFacts(True, True, True, False, 3)
