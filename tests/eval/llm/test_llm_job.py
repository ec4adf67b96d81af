"""Tasks that ask a model over a socket: their results, their order, and what ends them."""

import threading
import time
from dataclasses import replace
from functools import partial

import pytest
from doubles.language_model_server import KEY, LanguageModelServer, Say, Status
from tools.extras import skip_without
from tools.llm_fixtures import PRICES, LlmFixture, ask, end

from assay.eval.llm.costs import account, foretell
from assay.eval.llm.job import CUT, GOES_ON, TOO_LONG, Asking, LlmJob, read_answer
from assay.eval.llm.session import LlmSession
from assay.retrievers.base import AssayError
from assay.retrievers.language_models.client import CallSettings
from assay.retrievers.services.ledger import CallTotals
from assay.retrievers.settings import Resources

skip_without("openai", "openai")


@pytest.fixture
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LanguageModelServer() as server:

        def make(react):
            server.react = react
            return LlmFixture(server, tmp_path)

        yield make


def make_job(here, texts, budget=None, at_once=4, groups=None):
    pace = CallSettings(concurrency=at_once, attempts=2, backoff_seconds=0.01, max_cost_usd=budget)
    session = LlmSession("some", here.model, pace, PRICES, Resources(here.cache))
    tasks = {text: partial(put, text) for text in texts}
    return LlmJob(session, tasks, "asking", ["job"], groups or {})


def put(text, ask_):
    """Ask a prompt, as a task does."""
    return ask_(replace(ask(text), example="an example")).text


def last_word(call):
    return Say(call.texts[0].split()[-1])


def test_what_is_wrong_with_an_answer_is_told_and_stops_nothing(room):
    def react(call):
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


def test_tasks_are_rehearsed_by_examples_and_run_for_real(room, monkeypatch):
    here = room(last_word)
    job = make_job(here, ["b", "a", "c"])
    counted = job.count()
    assert (counted.to_ask, counted.known, len(here.server.calls)) == (3, 0, 0)
    told = foretell("words", counted, {"of": 1})
    assert told.lines[0] == "words: 0 answers known, 3 to ask openai some"
    assert (told.json["to_ask"], told.json["of"]) == (3, 1)
    heard = []
    assert list(job.run(lambda *found: heard.append(found)).items()) == [
        ("b", "b"), ("a", "a"), ("c", "c"),
    ]  # fmt: skip
    assert sorted(heard) == [("a", "a"), ("b", "b"), ("c", "c")]
    assert job.ledger.run.calls == 3
    assert job.ledger.account.run.calls == 3
    # What is kept needs no call and no key.
    monkeypatch.setenv("OPENAI_API_KEY", "")
    again = make_job(here, ["a", "b"])
    assert (again.count().known, again.count().to_ask) == (2, 0)
    assert again.run() == {"a": "a", "b": "b"}
    assert (again.ledger.run, len(here.server.calls)) == (CallTotals(), 3)
    assert (account(again.ledger), again.ledger.account) == ([], None)


def test_a_missing_key_and_another_process_are_one_line(room, monkeypatch):
    here = room(last_word)
    monkeypatch.setenv("OPENAI_API_KEY", "")
    monkeypatch.setattr(here.model, "url", None)  # the provider itself, which needs a key
    with pytest.raises(AssayError, match=r"^OPENAI_API_KEY: not set.* in the environment$"):
        make_job(here, ["a"]).run()
    with make_job(here, ["a"]).ledger, pytest.raises(AssayError, match="another process"):
        make_job(here, ["a"]).run()
    assert not here.server.calls


def test_an_estimate_takes_the_providers_cache_into_account_for_groups_alone(room):
    here = room(last_word)
    here.model.cached_from = 1
    plain = make_job(here, "ab").count()
    assert plain.usage.cache_write == plain.usage.cache_read == 0 < plain.usage.input
    grouped = make_job(here, "ab", groups=dict.fromkeys("ab", "one")).count()
    assert grouped.usage.cache_write == grouped.usage.cache_read > 0


def test_the_first_error_ends_all_and_what_is_under_way_is_kept(room):
    under_way = threading.Event()

    def react(call):
        if call.texts[0].split()[-1] == "bad":
            under_way.wait(30)
            return Status(401)
        under_way.set()
        time.sleep(0.3)
        return last_word(call)

    here = room(react)
    heard = []
    job = make_job(here, ["bad", "good", "later"], at_once=2)
    with pytest.raises(AssayError, match=f"refuses .*; {GOES_ON}$"):
        job.run(lambda *found: heard.append(found))
    assert heard == [("good", "good")]
    assert (len(here.server.calls), job.ledger.run.calls) == (2, 1)


def test_the_budget_ends_all_and_is_told(room):
    here = room(last_word)
    worst = PRICES.worst(ask("q1").most_tokens, here.model.most_output)
    job = make_job(here, [f"q{i}" for i in range(99)], budget=1.5 * worst, at_once=1)
    heard = []
    with pytest.raises(AssayError, match="allows no further call"):
        job.run(lambda *found: heard.append(found))
    assert 0 < len(heard) < 99
    assert job.ledger.run.usd <= 1.5 * worst
    (facts,) = account(job.ledger)
    told = dict(facts.pairs)
    assert told["sent"].startswith(f"{len(heard)} calls, ")
    assert told["budget"] == f"{job.ledger.run.usd:.4f} of {1.5 * worst:.4f} USD"


def test_another_error_is_raised_and_nothing_more_is_asked(room):
    here = room(last_word)

    def fail(ask_):
        raise ZeroDivisionError

    job = replace(make_job(here, "b", at_once=1), tasks={"a": fail, "b": partial(put, "b")})
    with pytest.raises(ZeroDivisionError):
        job.run()
    assert not here.server.calls


@pytest.mark.parametrize("at_once", [1, 3])
def test_no_more_at_a_time_than_set_and_the_first_of_a_group_alone(at_once):
    begun = []
    running = []
    lock = threading.Lock()
    ended = set()

    def answer(prompt):
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
