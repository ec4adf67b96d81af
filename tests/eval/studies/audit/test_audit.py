"""What two means can show, against SciPy, enumeration and simulation."""

import numpy as np
import pytest
import scipy
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from assay import audit
from assay.eval.cli.main import assay
from assay.eval.studies.audit.study import find_needed, limit_sd, list_sign_tests


@given(st.integers(3, 400), st.floats(-0.3, 0.3), st.floats(0.01, 0.5))
def test_a_reading_is_that_of_the_paired_t_test(n, mean, sd):
    drawn = np.random.default_rng(n).normal(size=n)
    differences = mean + sd * (drawn - drawn.mean()) / drawn.std(ddof=1)
    expected = scipy.stats.ttest_1samp(differences, 0)
    low, high = expected.confidence_interval()
    reading = audit(n, 0.5, 0.5 + mean, min(sd, 0.45)).found.readings[0]
    if sd <= 0.45:
        assert reading.p == pytest.approx(expected.pvalue, rel=1e-6, abs=1e-12)
        assert (reading.difference.low, reading.difference.high) == pytest.approx((low, high))


def test_that_many_queries_show_the_difference_four_times_of_five():
    needed = find_needed(0.05, 0.25, 0.05)
    assert needed
    rng = np.random.default_rng(8)
    samples = rng.normal(0.05, 0.25, (4000, needed))
    shown = scipy.stats.ttest_1samp(samples, 0, axis=1).pvalue <= 0.05
    assert np.mean(shown) == pytest.approx(0.8, abs=0.02)
    assert find_needed(1e-6, 0.5, 0.05) is None


@given(st.integers(1, 60), st.data())
def test_changes_are_those_that_the_counts_allow_with_the_exact_p(n, data):
    base, new = (data.draw(st.integers(0, n)) for _ in range(2))
    allowed = {
        (n11, base - n11, new - n11) for n11 in range(min(base, new) + 1) if base + new - n11 <= n
    }
    expected = {
        lost + gained: scipy.stats.binomtest(gained, lost + gained).pvalue if lost + gained else 1
        for _, lost, gained in allowed
    }
    assert dict(list_sign_tests(base, new, n)) == pytest.approx(expected)


@given(st.integers(2, 30), st.data())
def test_no_scores_with_these_means_spread_more(n, data):
    scores = st.lists(st.sampled_from([0, 0.3, 1]), min_size=n, max_size=n)
    base, new = (np.array(data.draw(scores)) for _ in range(2))
    least, most = limit_sd(base.mean(), new.mean(), n)
    assert least <= np.std(new - base, ddof=1) <= most + 1e-9


@pytest.mark.parametrize(
    ("asked", "shown", "words"),
    [
        ((250, 0.71, 0.74), None, "is shown only if the differences of single queries have"),
        ((250, 0.71, 0.74, 0.3), False, "is not shown with a spread of 0.3 (p 0.115)"),
        ((2000, 0.71, 0.74, 0.3), True, "is shown with a spread of 0.3 (p < 0.001)"),
        ((20, 0.0, 1.0), True, "A rise of 1 on 20 queries is shown whatever changed"),
        ((10, 0, 0), False, "A difference of 0 on 10 queries is not shown whatever changed"),
        ((250, 0.71, 0.71), False, "A difference of 0 on 250 queries is not shown whatever"),
    ],
)
def test_the_verdict(asked, shown, words):
    result = audit(*asked)
    assert result.found.shown is shown
    assert words in str(result.verdict)


def test_many_tries_ask_for_more():
    few, many = (audit(250, 0.712, 0.74, hits=True, tried=tried) for tried in (1, 20))
    assert few.found.shown is None
    assert "no more than 9 queries changed from hit to miss or back" in str(few.verdict)
    assert many.found.shown is False
    changed = [test.changed for test in many.report.tables["changed"].rows]
    assert (changed[0], changed[-1]) == (7, 250 * 2 - 178 - 185)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("-n 250 --base .7111 --new .74 --hits", "--base: no number of hits of 250 has a mean of"),
        ("-n 250 --base .71 --new .74 --sd .9", "--sd: 0.9 is more than scores from 0 to 1 with"),
        ("-n 250 --base 71 --new 74", "71.0 is not in the range 0<=x<=1"),
        ("-n 250 --base .71", "Missing option '--new'"),
    ],
)
def test_what_cannot_be_is_one_line(options, line):
    done = CliRunner().invoke(assay, ["audit", *options.split()])
    assert done.exit_code != 0
    assert line in (done.output if done.exit_code == 2 else str(done.exception))
