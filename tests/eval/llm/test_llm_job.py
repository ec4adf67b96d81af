"""Tasks that ask a model over a socket: their results, their order, and what ends them."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from doubles.language_model_server import KEY, Call, LanguageModelServer, Reaction, Say, Status
from tools.extras import skip_without
from tools.llm_fixtures import PRICES, LlmFixture, ask, end

from assay.eval.llm.job import CUT, GOES_ON, TOO_LONG, Ask, Asking, read_answer
from assay.eval.llm.session import LlmSession
from assay.retrievers.base import AssayError
from assay.retrievers.language_models.answers import KeptAnswer
from assay.retrievers.language_models.base import Prompt
from assay.retrievers.language_models.client import CallSettings
from assay.retrievers.services.ledger import CallTotals
from assay.retrievers.settings import Resources

skip_without("openai", "openai")


@pytest.fixture
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LanguageModelServer() as server:

        def make(react: Callable[[Call], Reaction]) -> LlmFixture:
            server.react = react
            return LlmFixture(server, tmp_path)

        yield make


def make_session(here, budget=None, at_once=4):
    pace = CallSettings(concurrency=at_once, attempts=2, backoff_seconds=0.01, max_cost_usd=budget)
    return LlmSession("some", here.model, pace, PRICES, Resources(here.cache))


def put(text, ask_):
    """Ask a prompt, as a task does."""
    return ask_(replace(ask(text), example="an example")).text


def last_word(call):
    return Say(call.texts[0].split()[-1])


def test_what_is_wrong_with_an_answer_is_told_and_stops_nothing(room):
    def react(call: Call) -> Reaction:
        return {
            "long": Status(400, message="maximum context length is 10"),
            "cut": Say("half", "length"),
            "bad": Say("", "content_filter"),
        }.get(call.texts[0].split()[-1], Say("yes"))

    here = room(react)
    for _ in range(2):
        with here.client() as client:
            assert read_answer(client.ask, ask("long")) == ("", TOO_LONG)
            assert read_answer(client.ask, ask("cut")) == ("half", CUT)
            assert read_answer(client.ask, ask("bad"))[1].startswith("the model refused: ")
            assert read_answer(client.ask, ask("short")) == ("yes", "")
    # What was answered is kept; what is too long is not, as another window may hold it.
    assert len(here.server.calls) == 5


def test_tasks_are_rehearsed_by_examples_and_run_for_real(room):
    here = room(last_word)
    session = make_session(here)
    tasks = {text: partial(put, text) for text in ("b", "a", "c")}
    counted = session.count()
    assert set(Asking(counted.ask).all(tasks, "asking").values()) == {"an example"}
    assert (counted.to_ask, counted.known, len(here.server.calls)) == (3, 0, 0)
    with session.open(session.ledger("job"), counted) as asking:
        assert list(asking.all(tasks, "asking").items()) == [("b", "b"), ("a", "a"), ("c", "c")]
    counted = session.count()
    Asking(counted.ask).all(tasks, "asking")
    assert (counted.to_ask, counted.known) == (0, 3)
    ledger = session.ledger("job")
    with session.open(ledger, counted) as asking:
        assert asking.all({"a": tasks["a"]}, "asking") == {"a": "a"}
    assert (ledger.earlier, len(here.server.calls)) == (CallTotals(), 3)


def test_an_estimate_leaves_the_providers_cache_out(room):
    here = room(last_word)
    here.model.cached_from = 1
    counted = make_session(here).count()
    Asking(counted.ask).all({text: partial(put, text) for text in "ab"}, "asking")
    assert counted.usage.cache_write == counted.usage.cache_read == 0 < counted.usage.input


def test_the_first_error_ends_all_and_what_is_under_way_is_kept(room):
    under_way = threading.Event()

    def react(call: Call) -> Reaction:
        if call.texts[0].split()[-1] == "bad":
            under_way.wait(30)
            return Status(401)
        under_way.set()
        time.sleep(0.3)
        return last_word(call)

    here = room(react)
    session = make_session(here, at_once=2)
    tasks = {text: partial(put, text) for text in ("bad", "good", "later")}
    ledger = session.ledger("job")
    with session.open(ledger) as asking:
        assert dict(asking.each(tasks, "asking")) == {"good": "good"}
    assert "refuses" in asking.stopped
    assert (len(here.server.calls), ledger.run.calls) == (2, 1)
    with (
        session.open(session.ledger("job")) as asking,
        pytest.raises(AssayError, match=f"refuses .*; what was answered is kept: {GOES_ON}$"),
    ):
        asking.all(tasks, "asking")


def test_the_budget_ends_all(room):
    here = room(last_word)
    worst = PRICES.worst(ask("q1").most_tokens, here.model.most_output)
    session = make_session(here, 1.5 * worst, at_once=1)
    ledger = session.ledger("job")
    with session.open(ledger) as asking:
        found = dict(asking.each({f"q{i}": partial(put, f"q{i}") for i in range(99)}, "asking"))
    assert 0 < len(found) < 99
    assert "allows no further call" in asking.stopped
    assert ledger.run.usd <= 1.5 * worst


def test_another_error_is_raised_and_nothing_more_is_asked(room):
    here = room(last_word)

    def fail(ask_: Ask) -> str:
        raise ZeroDivisionError

    session = make_session(here, at_once=1)
    with session.open(session.ledger("job")) as asking, pytest.raises(ZeroDivisionError):
        asking.all({"a": fail, "b": partial(put, "b")}, "asking")
    assert asking.stopped == "interrupted"
    assert not here.server.calls


@pytest.mark.parametrize("at_once", [1, 3])
def test_no_more_at_a_time_than_set_and_the_first_of_a_group_alone(at_once):
    begun: list[str] = []
    running: list[int] = []
    lock = threading.Lock()
    ended: set[str] = set()

    def answer(prompt: Prompt) -> KeptAnswer:
        name = prompt.question
        with lock:
            begun.append(name)
            running.append(len(begun) - len(ended))
            if name[1] != "0":
                assert f"{name[0]}0" in ended
        time.sleep(0.01)
        with lock:
            ended.add(name)
        return end(name)

    names = [f"{group}{i}" for i in range(3) for group in "xyz"]
    tasks = {name: partial(put, name) for name in names}
    groups = {name: name[0] for name in names}
    found = dict(Asking(answer, at_once).each(tasks, "asking", groups))
    assert found == {name: name for name in names}
    assert max(running) <= at_once
    if at_once == 1:
        assert begun == [f"{group}{i}" for group in "xyz" for i in range(3)]
