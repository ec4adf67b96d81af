"""Asking a model for real over a socket, from several threads and through faults."""

import gzip
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from doubles.language_model_server import Body, Status
from tools.extras import skip_without
from tools.llm_fixtures import PRICES, ask, end, say

from assay.retrievers.base import AssayError
from assay.retrievers.language_models.openai import OpenAiSettings
from assay.retrievers.language_models.providers import AnthropicSettings
from assay.retrievers.services.errors import TooLongError
from assay.retrievers.services.ledger import CostLedger
from assay.retrievers.settings import Resources

skip_without("openai", "openai")


def test_a_fault_that_stays_stops_everybody(room):
    here = room(lambda call: Status(500))
    with here.client() as client:
        for text in ("q1", "q2"):
            with pytest.raises(AssayError, match=r"HTTP 500.*given up after 4 attempts"):
                client.ask(ask(text))
    assert len(here.server.calls) == 4


@pytest.mark.parametrize("model", ["openai", "anthropic"])
def test_a_reply_without_end_stops_everybody(room, model):
    pytest.importorskip(model)
    packed = gzip.compress(b" " * (17 << 20))
    for body in (Body(b" " * (17 << 20)), Body(packed, {"content-encoding": "gzip"})):
        here = room(lambda _, body=body: body)
        here.model = make_model(model, here)
        with here.client() as client, pytest.raises(AssayError, match="answered more than 16 MiB"):
            client.ask(ask("q"))
        assert len(here.server.calls) == 1
        assert CostLedger(here.path, PRICES).add_up().lost == 0


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (Body(b" " * 1000, pause=0.05), "no answer in time"),  # it trickles
        (Body(b"[" * 100_000), r"\(not JSON\)"),
    ],
    ids=["trickles", "too deep"],
)
def test_a_reply_that_is_late_or_too_deep_is_none(room, body, says):
    here = room(lambda _: body)
    here.model = make_model("openai", here)
    begin = time.monotonic()
    with here.client(attempts=1) as client, pytest.raises(AssayError, match=says):
        client.ask(ask("q"))
    assert time.monotonic() - begin < 20


def make_model(type_, here):
    url, resources = here.server.url, Resources(here.cache)
    if type_ == "anthropic":
        claude = AnthropicSettings(base_url=url, timeout_seconds=2, key_variable="")
        return claude.build(resources)
    return OpenAiSettings(base_url=f"{url}/v1", timeout_seconds=2, model="m").build(resources)


def test_a_prompt_that_is_too_long_is_an_error_and_stops_nothing(room):
    def react(call):
        long = "long" in call.texts[0]
        return Status(400, message="maximum context length is 10") if long else say(call)

    with room(react).client() as client:
        with pytest.raises(TooLongError, match="maximum context"):
            client.ask(ask("long"))
        assert client.ask(ask("short")) == end("to short")


def test_leaving_waits_for_what_is_under_way_and_keeps_it(room):
    held = threading.Event()

    def react(call):
        held.set()
        time.sleep(0.5)
        return say(call)

    here = room(react)
    pool = ThreadPoolExecutor(1)
    with here.client() as client:
        under_way = pool.submit(client.ask, ask("q"))
        assert held.wait(30)
    assert under_way.result(5) == end("to q")
    with here.client() as client:
        client.ask(ask("q"))
    assert len(here.server.calls) == 1
    assert CostLedger(here.path, PRICES).add_up().lost == 0


def test_leaving_calls_back_who_waits_for_another_attempt(room):
    here = room(lambda call: Status(500))
    pool = ThreadPoolExecutor(1)
    with here.client(backoff_seconds=30) as client:
        waiting = pool.submit(client.ask, ask("q"))
        while not here.server.calls:
            time.sleep(0.01)
    with pytest.raises(AssayError, match="interrupted"):
        waiting.result(10)
    assert len(here.server.calls) == 1


def test_no_more_calls_at_a_time_than_set_by_any_number_of_threads(room):
    def react(call):
        time.sleep(0.05)
        return say(call)

    here = room(react)
    with here.client(concurrency=2) as client, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: client.ask(ask(f"q{i}")), range(8)))
    assert here.server.most_at_once == 2


def test_throttling_holds_everybody(room):
    times = []
    turned_away = threading.Event()

    def react(call):
        times.append(time.monotonic())
        return Status(429, {"retry-after": "1"}) if call.number == 0 else say(call)

    here = room(react)

    def ask_later(text):
        assert turned_away.wait(30)
        return client.ask(ask(text))

    with here.client(concurrency=4) as client, ThreadPoolExecutor(4) as pool:
        tries = [pool.submit(client.ask, ask("q0"))]
        tries += [pool.submit(ask_later, f"q{i}") for i in range(1, 4)]
        deadline = time.monotonic() + 30
        while client._held_until == 0.0 and time.monotonic() < deadline:
            time.sleep(0.01)
        turned_away.set()
        assert [item.result() for item in tries] == [end(f"to q{i}") for i in range(4)]
    assert all(later - times[0] >= 1.0 for later in times[1:])
