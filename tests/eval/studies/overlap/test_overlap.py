"""Overlap: Jaccard and RBO against their definitions, and what the study says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.planned_runs import make_collection, make_run

from assay.eval.running.study import Lab
from assay.eval.runs.json_form import to_json
from assay.eval.studies.overlap.study import STUDY, OverlapOptions, find_jaccard, find_rbo
from assay.retrievers.base import AssayError, Quiet

LISTS = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


def define_rbo(one, other, p):
    """RBO of two lists that are both continued by what the other lacks not, summed term by term.

    Beyond the lists' end the agreement is taken to stay what it was (equation 32).
    """
    short, long = sorted((one, other), key=len)
    s, n = len(short), len(long)
    x = [len({*long[:d]} & {*short[: min(d, s)]}) for d in range(n + 1)]
    first = sum(x[d] / d * p**d for d in range(1, n + 1))
    second = sum(x[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1)) if s else 0.0
    third = ((x[n] - x[s]) / n + (x[s] / s if s else 0.0)) * p**n
    return (1 - p) / p * (first + second) + third


@given(LISTS, LISTS, st.sampled_from([0.5, 0.9, 0.98]))
def test_rbo_is_what_its_equation_says(one, other, p):
    found = find_rbo(one, other, p)
    assert found == find_rbo(other, one, p)
    assert 0 <= found <= 1 + 1e-12
    if one or other:
        assert found == pytest.approx(define_rbo(one, other, p))


@given(LISTS)
def test_a_list_agrees_with_itself(one):
    assert find_rbo(one, one) == pytest.approx(1)
    assert find_jaccard(one, one) == 1
    if one:
        assert find_rbo(one, []) == find_jaccard(one, []) == 0


def test_what_differs_at_the_top_weighs_more():
    assert find_rbo("abcde", "bacde") < find_rbo("abcde", "abced")
    # By hand, p = .5: agreements 1, 1/2, 2/3; (.5 + .125 + 1/12) + 2/3 · .125.
    assert find_rbo("abc", "acd", 0.5) == pytest.approx(0.5 + 0.125 + 1 / 12 + 2 / 3 / 8)
    assert find_jaccard("abc", "acd") == 0.5


def ask(runs, patch, **asked):
    patch.setattr(Lab, "run_all", lambda *_: runs)
    return STUDY.find(OverlapOptions(runs=("a", "b"), **asked), Lab(Quiet()))


def test_the_study_counts_query_by_query(tmp_path, monkeypatch):
    runs = [make_run(tmp_path, "one", [1, 2, 1, 5]), make_run(tmp_path, "two", [1, 1, 1, 5])]
    found = ask(runs, monkeypatch, k=1)
    assert [item.first for item in found.queries] == [True, False, True, True]
    assert found.means["first"].value == found.means["jaccard"].value == 0.75
    report = STUDY.report(found)
    told = "They share 75\u00a0% of their first passages; the first is the same for 75\u00a0%"
    assert report.verdict[0].startswith(told)
    assert report.tables["queries"].rows[0].query == "q1", "which agrees least"
    assert to_json(found)["means"]["first"]["n"] == 4


def test_what_cannot_be_held_together_is_refused(tmp_path, monkeypatch):
    runs = [make_run(tmp_path, "one", [1, 1]), make_run(tmp_path, "two", [1, 1, 1])]
    with pytest.raises(AssayError, match="different collections"):
        ask(runs, monkeypatch)
    with pytest.raises(AssayError, match="compares two runs, not 1"):
        ask(runs[:1], monkeypatch)
    assert make_collection(2).digest != make_collection(3).digest
