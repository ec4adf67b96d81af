"""The benchmark beside libraries called directly: who is asked when, and what it ends with."""

from collections import Counter

import pytest

from assay.eval.statistics.estimates import Estimate
from assay.retrievers.base import Quiet
from benchmarks import ratios
from benchmarks.ratios import ROUNDS, Pair, Ratio, find_ratio, time_apart


def make_ratio(low, high):
    return Ratio("ours", "library", 1.0, 1.0, Estimate((low + high) / 2, low, high, 9), 1.2)


def test_all_are_asked_all_queries_as_often_and_never_the_same_in_a_turn():
    asked = []

    def make(who):
        def ask(query):
            asked.append((who, query))
            return who + int(query) / 100

        return ask

    queries = [str(number) for number in range(12)]
    found = time_apart([make(who) for who in range(4)], queries, Quiet())
    assert found == [[who + number / 100 for number in range(12)] for who in range(4)]
    timed = asked[4 * 10 :]
    assert set(Counter(timed).values()) == {ROUNDS}
    turns = [timed[i : i + 4] for i in range(0, len(timed), 4)]
    assert all(len({query for _, query in turn}) == 4 for turn in turns)
    assert len({tuple(who for who, _ in turn) for turn in turns}) > 4


def test_a_ratio_is_of_ours_over_the_library():
    pair = Pair("ours", "library", float, float, 1.2)
    found = find_ratio(pair, [4.0, 6.0, 5.0], [2.0, 3.0, 2.5])
    assert (found.ours, found.direct, found.ratio.value) == (5.0, 2.5, 2.0)
    assert found.verdict == "over"


@pytest.mark.parametrize(
    ("low", "high", "verdict", "status"),
    [(1.0, 1.2, "within", 0), (1.1, 1.3, "cannot tell", 0), (1.21, 1.3, "over", 1)],
)
def test_the_exit_code_is_1_where_one_is_over(low, high, verdict, status, monkeypatch):
    found = make_ratio(low, high)
    assert found.verdict == verdict
    monkeypatch.setattr(ratios, "pin", lambda: None)
    monkeypatch.setattr(ratios, "measure", lambda *_: [make_ratio(1.0, 1.1), found])
    with pytest.raises(SystemExit) as ended:
        ratios.main([])
    assert ended.value.code == status
