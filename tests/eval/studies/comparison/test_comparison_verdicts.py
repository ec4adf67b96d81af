"""Verdicts of comparisons of runs whose scores are known by hand."""

import random
from pathlib import Path

import pytest
from samples.planned_runs import make_collection, make_run

from assay.eval.statistics.significance import find_detectable
from assay.eval.studies.comparison.analysis import compare

BASE = [1, 2, 4, 0, 1, 5, 2, 1, 0, 2] * 4
MEASURES = ("MRR@10", "Hit@1")


def test_a_plain_gain_is_shown_whatever_stands_beside_it(folder: Path) -> None:
    """Once 250 and more tests stood together, no p-value could reach the level."""
    collection = make_collection(120, types=tuple(f"type{i}" for i in range(12)))
    base = make_run(folder, "base", [5] * 120, collection=collection)
    better = make_run(folder, "better", [1] * 90 + [5] * 30, collection=collection)
    like = [
        make_run(folder, f"like{i}", [4 + (query + i) % 3 for query in range(120)],
                 collection=collection)
        for i in range(14)
    ]  # fmt: skip
    compared = compare([base, better, *like])
    assert compared.tests + compared.tests_by_type > 250
    verdicts = {item.measure: item.verdict for item in compared.pairs[0].differences}
    assert verdicts["nDCG@10"] == verdicts["MRR@10"] == verdicts["Hit@1"] == "better"
    assert "better" in {item.verdict for item in compared.pairs[0].by_type}


def test_what_only_this_run_alone_would_show_is_named(folder: Path) -> None:
    rng = random.Random(5)
    base = make_run(folder, "base", [2] * 40)
    small = make_run(folder, "small", [1] * 9 + [3] * 3 + [2] * 28)
    others = [
        make_run(folder, f"other{i}", [rng.choice([1, 2, 3]) for _ in range(40)]) for i in range(20)
    ]
    (alone,) = compare([base, small], ("MRR@10",)).pairs
    assert alone.differences[0].verdict == "better"
    assert alone.unshown == ()
    among = compare([base, small, *others], ("MRR@10",)).pairs[0]
    assert among.differences[0].verdict != "better"
    assert among.unshown == ("MRR@10",)


def test_verdicts_where_nothing_is_significant(folder: Path) -> None:
    base = make_run(folder, "base", [4] * 40)
    nearly = make_run(folder, "nearly", [5, 3] * 4 + [4] * 32)
    (pair,) = compare([base, nearly], ("MRR@10",)).pairs
    assert pair.differences[0].verdict == "no difference shown"
    (pair,) = compare([base, nearly], ("MRR@10",), effect=0.001).pairs
    assert pair.differences[0].verdict == "not shown (too few queries)"


@pytest.mark.parametrize(
    ("n", "verdict"), [(40, "not shown (too few queries)"), (160, "no difference shown")]
)
def test_few_queries_that_moved_show_nothing_unless_many_might_have(
    folder: Path, n: int, verdict: str
) -> None:
    """Five of one sign give a p-value of .06. A difference of .05 would have moved 8 of 160."""
    base = make_run(folder, f"base{n}", [4] * n)
    moved = make_run(folder, f"moved{n}", [3] * 5 + [4] * (n - 5))
    (pair,) = compare([base, moved], ("MRR@10",)).pairs
    (item,) = pair.differences
    assert (item.wins, item.losses, item.p) == (5, 0, 0.0625)
    assert item.detectable == find_detectable([0.0] * n, 1.0)
    assert item.verdict == verdict


def test_a_type_of_which_few_moved_shows_nothing_among_others(folder: Path) -> None:
    """Six of one sign give a p-value of .03 alone, and above .05 beside other types."""
    verdicts = []
    for types in (("few",), ("few", "a", "b", "c", "d")):
        collection = make_collection(60 * len(types), types=types)
        ranks = {"few": [3] * 3 + [5] * 3 + [4] * 54}
        columns = [ranks.get(kind, [3, 5] * 30) for kind in types]
        planned = [rank for row in zip(*columns, strict=True) for rank in row]
        runs = [
            make_run(folder, f"{name}{len(types)}", given, collection=collection)
            for name, given in (("base", [4] * len(planned)), ("other", planned))
        ]
        (pair,) = compare(runs, ("MRR@10",)).pairs
        (item,) = [item for item in pair.by_type if item.type == "few"]
        assert (item.wins, item.losses) == (3, 3)
        assert item.detectable is not None
        assert item.detectable < 0.05
        verdicts.append(item.verdict)
    assert verdicts == ["no difference shown", "not shown (too few queries)"]


def test_equal_scores_of_few_queries_do_not_show_that_nothing_differs(folder: Path) -> None:
    runs = [make_run(folder, name, BASE) for name in ("base", "same")]
    (pair,) = compare(runs, MEASURES).pairs
    for item in pair.differences:
        assert (item.difference.low, item.difference.high, item.ties) == (0.0, 0.0, 40)
        assert item.detectable == pytest.approx(0.19, abs=0.01)
        assert item.verdict == "not shown (too few queries)"
    (pair,) = compare(runs, MEASURES, effect=0.2).pairs
    assert {item.verdict for item in pair.differences} == {"no difference shown"}


def test_a_gain_that_a_few_large_losses_would_undo_is_warned_of(folder: Path) -> None:
    base, other = make_run(folder, "base", [10] * 40), make_run(folder, "other", [9] * 40)
    compared = compare([base, other], ("MRR@10",))
    (pair,) = compared.pairs
    assert [item.verdict for item in pair.differences] == ["better"]
    assert pair.differences[0].presumes_symmetry
    told = "other: the difference in MRR@10 is fragile: a few opposite queries would reverse it"
    assert told in compared.warnings
    plain = compare([make_run(folder, "worst", [0] * 40), other], ("Hit@10",))
    assert not plain.pairs[0].differences[0].presumes_symmetry
    assert not plain.warnings
