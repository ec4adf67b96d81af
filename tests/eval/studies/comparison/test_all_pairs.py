"""Comparisons of all pairs: order, groups and verdicts, by hand, SciPy and simulation."""

import json
import random
from itertools import combinations, permutations
from statistics import NormalDist

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from samples.planned_runs import make_collection, make_run

from assay.eval.cli.demo import print_comparison
from assay.eval.runs.json_form import to_json
from assay.eval.statistics.max_t import randomise_family
from assay.eval.studies.comparison.analysis import compare
from assay.eval.studies.comparison.differences import Contrast, judge_family
from assay.eval.studies.comparison.frame import make_result, render_differences
from assay.eval.studies.comparison.page import write
from assay.eval.studies.comparison.page.view import make_view
from assay.eval.studies.comparison.record import describe_comparison, figures, metrics
from assay.eval.studies.comparison.words import group_runs

# Ranks of the gold passage: `good` is first everywhere, `fair` nearly so, `poor` seldom.
RANKS = {
    "poor": [3, 2, 9, 4, 1, 5, 2, 7, 3, 2] * 4,
    "good": [1] * 40,
    "fair": [1, 1, 1, 1, 1, 1, 1, 2, 1, 1] * 3 + [1] * 10,
}
MEASURES = ("MRR@10", "Hit@1")


@pytest.fixture
def runs(folder):
    collection = make_collection(40, types=("words", "ids"))
    return [make_run(folder, name, ranks, collection=collection) for name, ranks in RANKS.items()]


@pytest.fixture
def compared(runs):
    return compare(runs, MEASURES, all_pairs=True)


def column_pairs(scores):
    """Return the differences of each two columns."""
    return np.stack(
        [scores[:, two] - scores[:, one] for one, two in combinations(range(scores.shape[1]), 2)]
    ).T


def test_runs_are_ranked_and_all_pairs_judged(compared):
    assert compared.labels == ("good", "fair", "poor")
    assert compared.names == (("good", "fair"), ("good", "poor"), ("fair", "poor"))
    verdicts = [pair.headline.verdict for pair in compared.pairs]
    assert verdicts == ["not shown (too few queries)", "worse", "worse"]
    assert compared.groups == ("a", "a", "b")
    assert compared.verdict == (
        "good comes first of 3 for new questions on these documents, with MRR@10 1.000. It is "
        "better than poor; no proven difference from fair.",
    )
    assert compared.tests_headline == 3
    assert compared.tests == 6
    # Adjusted for the three pairs; the other measure is not tested where the headline is not shown.
    verdicts = [pair.differences[1].verdict for pair in compared.pairs]
    assert verdicts == ["not tested", "worse", "worse"]


def test_the_order_in_which_runs_are_given_changes_nothing(runs):
    told = {
        json.dumps(to_json(compare(list(order), MEASURES, all_pairs=True)))
        for order in permutations(runs)
    }
    assert len(told) == 1


def test_two_runs_are_compared_as_with_a_base(runs):
    with_base = compare(runs[:2], MEASURES)
    assert compare(runs[:2], MEASURES, all_pairs=True) == with_base
    assert with_base.labels == ("poor", "good"), "the first stays the base, better or not"
    assert "runs" not in make_result(with_base).tables


def test_runs_that_nothing_tells_apart_are_said_to_be(folder):
    runs = [make_run(folder, name, [1, 2] * 20) for name in ("one", "two", "three")]
    few = compare(runs, MEASURES, all_pairs=True)
    assert few.groups == ("a", "a", "a")
    assert few.verdict == (
        "All 3 could be equally good for new questions on these documents: MRR@10 is 0.750 for "
        "each.",
    )
    enough = compare(runs, MEASURES, effect=0.5, all_pairs=True)
    assert enough.verdict[0].startswith("No proven difference between them for new questions")


def test_what_two_runs_alone_would_show_is_explained(folder):
    rng = random.Random(5)
    ranks = {"base": [2] * 40, "small": [1] * 9 + [3] * 3 + [2] * 28}
    ranks |= {f"run{i}": [rng.choice([1, 2, 3]) for _ in range(40)] for i in range(5)}
    runs = {name: make_run(folder, name, each) for name, each in ranks.items()}
    ranked = compare(list(runs.values()), ("MRR@10",), all_pairs=True)
    lines = [line for line in ranked.verdict if line.startswith("Compared alone, ")]
    alone = {
        pair: item
        for pair in ranked.names
        if (item := compare([runs[name] for name in pair], ("MRR@10",)).pairs[0].headline).shown
    }
    hidden = [
        f"{other} and {base}"
        for (base, other), pair in zip(ranked.names, ranked.pairs, strict=True)
        if (base, other) in alone and not pair.headline.shown
    ]
    assert hidden
    (line,) = lines
    assert all(words in line for words in hidden[:3])
    assert (f" and {len(hidden) - 3} more pair" in line) == (len(hidden) > 3)
    assert line.endswith("would differ: two need less evidence than 7 at once.")


def test_every_form_holds_the_same_pairs(compared, tmp_path, monkeypatch, capsys):
    page = write(compared, tmp_path)
    facts = json.loads((page.parent / "comparison.json").read_text())
    ranking = [(run["label"], run["rank"], run["groups"]) for run in facts["ranking"]]
    assert ranking == [("good", 1, "a"), ("fair", 2, "a"), ("poor", 3, "b")]
    result = make_result(compared)
    differences = result.tables["differences"].set_index("measure", append=True)
    for told, pair in zip(facts["pairs"], compared.pairs, strict=True):
        row = differences.loc[(f"{told['other']} against {told['base']}", "MRR@10")]
        assert told["differences"][0]["difference"]["value"] == row["difference"]
        assert row["verdict"] == pair.headline.verdict
    assert list(result.tables["runs"]["groups"]) == list(compared.groups)
    assert list(result.tables["by_type"]["type"].unique()) == ["ids", "words"]
    rows = render_differences(compared).splitlines()
    assert len(rows) == 1 + 3 * (2 + 2), "each pair: two measures, and two types"
    assert rows[1].startswith("good,fair,MRR@10,,40,1.0,")
    text = page.read_text()
    assert text.count('class="verdict worse"') > 2
    assert "Same letter: no proven difference" in text
    assert "| poor | 0.387 (0.307 – 0.467) | b |" in (page.parent / "report.md").read_text()
    assert "difference/MRR_at_10/good/poor" in {name for name, *_ in figures(compared)}
    assert "difference/MRR_at_10/poor" in metrics(compared)
    assert "good comes first" in describe_comparison(compared)
    tones = [[cell.tone for cell in row.cells] for row in make_view(compared).ranking]
    assert tones[2] == ["better", "better", ""]
    monkeypatch.setenv("COLUMNS", "80")
    print_comparison(compared)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 24 - 3, "the report and the next command follow"
    assert any(line.split()[:2] == ["good", "1.000"] for line in lines)
    print_comparison(compared, full=True)
    told = " ".join(capsys.readouterr().out.split())
    assert "poor against fair Measure MRR@10 · n 40 ·" in told


def test_unlike_means_of_normal_scores_are_found_as_by_tukey():
    scores = np.random.default_rng(8).normal([0, 0, 0.05, 0.1, 0.22], size=(300, 5))
    found = randomise_family(column_pairs(scores))
    tukey = scipy.stats.tukey_hsd(*scores.T).pvalue[np.triu_indices(5, 1)]
    leading = int(np.argmin(tukey))
    assert found.adjusted[leading] == pytest.approx(tukey[leading], abs=0.01)
    assert all(
        stepped <= single + 0.06 for stepped, single in zip(found.adjusted, tukey, strict=True)
    )
    critical = scipy.stats.studentized_range.ppf(0.95, 5, np.inf) / np.sqrt(2)
    assert NormalDist().inv_cdf(1 - found.level / 2) == pytest.approx(critical, abs=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("gain", [0.0, 0.15], ids=["none differs", "two differ from two"])
def test_the_chance_of_any_false_finding_among_all_pairs_keeps_the_level(gain):
    equal = [(0, 1), (2, 3)] if gain else list(combinations(range(4), 2))
    false, missed, trials = 0, 0, 300
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        hard = rng.random((60, 1))  # queries that are hard for all
        scores = np.clip(hard + rng.normal(0, 0.25, (60, 4)) + [0, 0, gain, gain], 0, 1)
        named = list(combinations(range(4), 2))
        contrasts = [
            Contrast(
                "nDCG@10", "", dict(enumerate(scores[:, one])), dict(enumerate(scores[:, two]))
            )
            for one, two in named
        ]
        judged = dict(zip(named, judge_family(contrasts), strict=True))
        false += any(judged[pair].shown for pair in equal)
        missed += not any(item.shown for pair, item in judged.items() if pair not in equal)
    assert false / trials <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / trials)
    assert false, "a test that never errs is no test at .05"
    assert not gain or missed / trials < 0.5


@settings(max_examples=100, deadline=None)
@given(
    st.integers(2, 8).flatmap(
        lambda runs: st.tuples(
            st.just(runs), st.sets(st.sampled_from(list(combinations(range(runs), 2))))
        )
    )
)
def test_two_runs_share_a_letter_exactly_where_they_are_not_shown_to_differ(case):
    runs, differ = case
    groups = group_runs(runs, differ)
    for one, two in combinations(range(runs), 2):
        assert bool(set(groups[one]) & set(groups[two])) == ((one, two) not in differ)
    assert all(groups)
