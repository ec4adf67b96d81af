"""Latencies of two humps: told where the network waits, and nowhere else."""

import random
import sys
import time
from dataclasses import replace
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path
from threading import local
from typing import Any

import pytest
from doubles.delayed_ack_server import serve_slowly
from hypothesis import given
from hypothesis import strategies as st
from samples.report import make_run

from assay.eval.cli.table import print_summary
from assay.eval.report.run_page.view import make_view
from assay.eval.runs.delays import LEAST, describe_delays, find_delay
from assay.eval.runs.execution.python_retrievers import FunctionRetriever
from assay.eval.runs.latency import TOTAL, LatencySample, LatencySettings, collect_times, measure
from assay.eval.runs.summary.summary import summarise
from assay.retrievers.base import Quiet
from assay.retrievers.pipeline.shape import PipelineShape


def make_times(wait: float, waiting: int, others: int, usual: float = 4.0) -> list[float]:
    """Return times of which some are longer by `wait`, all with a spread of their own."""
    draw = random.Random(7)
    spread = [draw.lognormvariate(0, 0.3) * usual for _ in range(waiting + others)]
    return [taken + wait * (i < waiting) for i, taken in enumerate(spread)]


@pytest.mark.parametrize(("wait", "told"), [(41, 40), (44, 40), (48, 40), (200, 200), (212, 200)])
@pytest.mark.parametrize("waiting", [10, 50, 66, 90])
def test_a_wait_of_some_queries_is_told(wait: float, told: int, waiting: int) -> None:
    found = find_delay(make_times(wait, waiting, 100 - waiting))
    assert found is not None
    assert (found.wait, found.n) == (told, 100)
    assert found.share == pytest.approx(waiting / 100)
    assert found.apart == pytest.approx(wait, abs=2)
    assert found.usual == pytest.approx(4.0, abs=1)


@pytest.mark.parametrize(
    "times",
    [
        make_times(0, 0, 100),
        make_times(44, 100, 0),  # one hump: every query waits
        make_times(44, 5, 95),  # a few that are slow for reasons of their own
        make_times(20, 50, 50),
        make_times(80, 50, 50),
        make_times(120, 50, 50),
        make_times(44, 12, LEAST - 13),  # too few
        [4.0 + 60 * i / 100 for i in range(100)],  # evenly spread, nothing between is empty
        make_times(44, 50, 50, usual=40.0),  # humps that run into one another
    ],
)
def test_other_latencies_are_not(times: list[float]) -> None:
    assert find_delay(times) is None


@given(st.lists(st.floats(0.01, 30), max_size=60))
def test_no_times_without_a_wait_show_one(times: list[float]) -> None:
    assert find_delay(times) is None


def test_a_stage_is_named_rather_than_the_whole() -> None:
    slow, quick = make_times(44, 66, 34), make_times(0, 0, 100)
    remote = (TOTAL, "dense")
    times = {TOTAL: slow, "dense": slow, "keyword": quick}
    (line,) = describe_delays(times, remote)
    assert line.startswith("dense: 66% of 100 queries take 44 ms longer than the others' ")
    assert "This may be the connection and not the search: TCP can delay" in line
    assert "by 40 ms" in line
    (line,) = describe_delays({TOTAL: slow, "keyword": quick}, remote)
    assert line.startswith("the whole search: ")
    assert describe_delays({TOTAL: quick}, remote) == ()


def test_what_this_process_computes_waits_for_no_network() -> None:
    slow = make_times(44, 26, 74)
    times = {TOTAL: slow, "dense.encode": make_times(0, 0, 100), "fusion": slow}
    assert describe_delays(times, ()) == ()
    assert describe_delays({"fusion": slow}, (TOTAL, "dense.encode")) == ()


SERVED = {"type": "openai", "model": "text-embedding-3-small"}
KEYWORD: dict[str, Any] = {"a": {"type": "bm25"}}
BOTH: dict[str, Any] = {**KEYWORD, "b": {"type": "dense", "encoder": SERVED}}
FUSED: dict[str, Any] = {"legs": BOTH, "fusion": {"type": "rrf"}}
STORE = {"type": "native_hybrid", "engine": {"type": "qdrant"}}
WORDS = {"type": "engine_keyword", "engine": {"type": "opensearch", "knn": {"method": "none"}}}
API = {"type": "openai", "model": "gpt-5-nano"}
RERANKER = {"type": "cohere", "model": "rerank-v4.0"}


@pytest.mark.parametrize(
    ("retriever", "remote"),
    [
        ({"legs": KEYWORD}, []),
        (FUSED, ["b.encode"]),
        ({"mode": "keyword", **FUSED}, []),
        ({"legs": {"a": {"type": "native_hybrid"}}}, []),
        ({"legs": {"a": STORE}}, ["a"]),
        ({"legs": {"a": STORE | {"encoder": SERVED}}}, ["a.encode", "a"]),
        ({"legs": {"a": WORDS}}, ["a"]),
        ({"legs": KEYWORD, "query": [{"type": "multi_query", "model": API}]}, ["multi_query"]),
        ({"legs": KEYWORD, "stages": [{"type": "rerank", "model": RERANKER}]}, ["rerank"]),
        ({"legs": KEYWORD, "stages": [{"type": "rerank"}]}, []),
    ],
)
def test_a_pipeline_names_what_asks_a_server(retriever: dict[str, Any], remote: list[str]) -> None:
    shape = PipelineShape.model_validate(retriever)
    assert shape.list_remote() == remote


@pytest.mark.skipif(sys.platform != "linux", reason="how long others delay is not known")
def test_a_server_that_waits_for_acknowledgements() -> None:
    connections = local()

    with serve_slowly(whole=2, of=5) as (host, port):

        def search(text: str, k: int) -> list[str]:
            if not hasattr(connections, "one"):
                connections.one = HTTPConnection(host, port)
            connections.one.request("GET", "/")
            connections.one.getresponse().read()
            return []

        class Client(FunctionRetriever):
            def list_remote(self) -> list[str]:
                return ["function"]

        retriever = Client(search)
        queries = [(f"q{i}", "words") for i in range(40)]
        settings = LatencySettings(queries=40, seconds=5, concurrency=1)
        # A machine that is busy with something else may fill the gap between the humps.
        found = (
            describe_delays(collect_times(measured.samples), measured.remote)
            for _ in range(3)
            for measured in [measure(retriever, queries, 10, settings, Quiet())]
        )
        (line,) = next(filter(None, found))
    assert "the whole search: " in line or "function: " in line
    assert "by 40 ms" in line


def test_a_function_that_asks_nobody_waits_for_no_network() -> None:
    """It may wait as long, as here, and be as slow as on a busy machine."""
    turns = cycle((0.0, 0.044))

    def search(text: str, k: int) -> list[str]:
        time.sleep(next(turns))
        return []

    retriever = FunctionRetriever(search)
    queries = [(f"q{i}", "words") for i in range(24)]
    settings = LatencySettings(queries=24, warm_up=0, seconds=5, concurrency=1)
    measured = measure(retriever, queries, 10, settings, Quiet())
    assert measured.remote == ()
    assert describe_delays(collect_times(measured.samples), measured.remote) == ()


def test_a_run_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path)
    assert summarise(run).delays == ()
    times = make_times(44, 66, 34)
    samples = [LatencySample(f"q{i}", {TOTAL: taken}) for i, taken in enumerate(times)]
    here = replace(run, latency=tuple(samples))
    assert summarise(here).delays == (), "no stage asks a server"
    manifest = run.manifest.model_copy(update={"remote": [TOTAL]})
    slow = summarise(replace(here, manifest=manifest))
    (line,) = slow.delays
    assert slow.as_json()["delays"] == [line]
    print_summary(slow)
    assert line in capsys.readouterr().out
    assert "TCP can delay acknowledgements" in make_view(slow).warnings[-1]
