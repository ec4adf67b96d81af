"""Timing two processes interleaved over the line protocol."""

import random
import sys
import time
from collections import Counter
from itertools import pairwise

import pytest
from tools.busy_machine import spinning

from assay.eval.runs.execution.interleaved_timing import (
    LEAST_QUERIES,
    TimedProcess,
    alternate,
    interleave,
)
from assay.eval.statistics.estimates import estimate_percentile_ratio
from assay.retrievers.base import AssayError, Quiet

WORKER = """
import json, sys
log = open({log!r}, "a")
print(json.dumps({{"ready": True}}), flush=True)
for number, line in enumerate(sys.stdin):
    query = json.loads(line)["query"]
    print({name!r}, query, file=log, flush=True)
    print(json.dumps({{"milliseconds": {factor} * len(query)}}), flush=True)
"""


def timed(folder, name, factor):
    path = folder / f"{name}.py"
    path.write_text(WORKER.format(log=str(folder / "log"), name=name, factor=factor))
    return TimedProcess(name, (sys.executable, str(path)), folder)


def test_queries_alternate_and_stay_paired(tmp_path):
    one, two = timed(tmp_path, "base", 1), timed(tmp_path, "head", 2.5)
    base, head, load = interleave(one, two, ["a", "bb", "ccc"], 60, Quiet())
    assert load.cores >= 1
    assert base == [1, 2, 3]
    assert head == [2.5, 5, 7.5]
    lines = (tmp_path / "log").read_text().split("\n")[:-1]
    assert lines[:8] == [
        "base a", "head a", "head bb", "base bb", "base ccc", "head ccc", "head a", "base a",
    ]  # fmt: skip
    assert len(lines) == 3 * 2 * 3


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 21])
def test_each_follows_each_other_and_takes_each_place_equally_often(count):
    asked = []

    def make(side):
        def ask(query):
            asked.append((query, side))
            return 0.0

        return ask

    queries = range(count * (1 + count % 2))
    alternate([make(side) for side in range(count)], queries, 60, Quiet(), rounds=1)
    orders = [[side for i, side in asked if i == query] for query in queries]
    assert all(sorted(order) == list(range(count)) for order in orders)
    places = Counter((place, side) for order in orders for place, side in enumerate(order))
    assert set(places.values()) == {1 + count % 2}
    neighbours = Counter(pair for order in orders for pair in pairwise(order))
    assert len(neighbours) == count * (count - 1)
    assert set(neighbours.values()) <= {1 + count % 2}


def test_no_further_query_is_begun_after_the_time():
    asked = []

    def measure(query):
        asked.append(query)
        return float(query)

    times = alternate([measure, measure], range(30), 0, Quiet())
    assert times == [[float(i) for i in range(LEAST_QUERIES)]] * 2
    assert len(asked) == 2 * LEAST_QUERIES


@pytest.mark.slow
def test_a_pipeline_is_as_fast_as_itself():
    """Half of the intervals or fewer would hold 1 if its times drifted apart."""
    with spinning():
        assert sum(covers_one(seed) for seed in range(20)) >= 14


def covers_one(seed):
    lengths = random.Random(seed).choices(range(200, 4000), k=40)

    def search(length):
        begin = time.perf_counter()
        sum(range(length))
        return (time.perf_counter() - begin) * 1000

    ratio = estimate_percentile_ratio(*alternate([search, search], lengths, 60, Quiet()), 50)
    return ratio.low <= 1 <= ratio.high


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys; sys.exit('no such module: x')", "no such module: x"),
        ("pass", "it said nothing"),
        ('print(\'{"error": "the model is missing"}\')', "the model is missing"),
        ("print('{\"ready\": true}')", "cannot be timed"),
    ],
)
def test_a_process_that_breaks_off(tmp_path, code, words):
    broken = TimedProcess("base x", (sys.executable, "-c", code), tmp_path)
    with pytest.raises(AssayError, match=f"base x: .*{words}"):
        interleave(broken, timed(tmp_path, "head", 1), ["a"], 60, Quiet())


def test_a_command_that_is_not_there(tmp_path):
    with pytest.raises(AssayError, match="cannot be started"):
        interleave(
            TimedProcess("base", ("./nothing",), tmp_path),
            timed(tmp_path, "head", 1),
            ["a"],
            60,
            Quiet(),
        )
