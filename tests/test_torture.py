"""The short form of `make torture`: a few kills, spoiled files and full disks, within a minute."""

import time

import pytest

from torture.__main__ import render
from torture.disks import torture_disks
from torture.fuzz import torture_readers
from torture.kills import Outcome, torture_kills


def check(outcomes: list[Outcome]) -> None:
    assert [failure for outcome in outcomes for failure in outcome.failures] == []
    table = render(outcomes, 1.0)
    assert table.count("\n") == 3 + len({outcome.name.split()[0] for outcome in outcomes})
    assert f": {sum(outcome.cases for outcome in outcomes):,} cases in 1 s." in table


def test_every_reader_reads_or_says_why_not() -> None:
    outcomes = torture_readers(510, 1, time.monotonic() + 20, lambda _: None)
    check(outcomes)
    assert sum(outcome.cases for outcome in outcomes) > 100


def test_a_killed_command_loses_nothing() -> None:
    check(torture_kills(8, 1, time.monotonic() + 6, lambda _: None, track=False))


@pytest.mark.slow
def test_a_full_disk_is_one_line() -> None:
    if not (outcomes := torture_disks(4, 1, time.monotonic() + 15, lambda _: None)):
        pytest.skip("no tmpfs can be mounted here")
    check(outcomes)


def test_what_goes_wrong_is_counted_over_all_seeds() -> None:
    outcomes = [
        Outcome("kill `x`, fresh", 3, 1200, 7, ["lost"]),
        Outcome("fuzz y", 3, 1, 1, []),
        Outcome("kill `z`, fresh", 4, 3, 2, []),
    ]
    table = render([*outcomes, Outcome("kill `x`, warm", 4, 5, 4, ["late", "lost"])], 2.0)
    assert table.endswith(
        "| kill | `x`, `z` | 3, 4 | 1,208 | 13 | 3 |\n| fuzz | y | 3 | 1 | 1 | 0 |"
    )
