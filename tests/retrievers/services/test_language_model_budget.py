"""What is asked over a socket is paid for once, and within a budget."""

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from doubles.language_model_server import OUTPUT, Say, Status
from tools.extras import skip_without
from tools.llm_fixtures import MOST_OUTPUT, PRICES, ask, end, say

from assay.retrievers.base import AssayError
from assay.retrievers.language_models.answers import KeptAnswer
from assay.retrievers.language_models.base import Prompt
from assay.retrievers.services.ledger import CostLedger
from assay.retrievers.services.prices import Usage
from assay.retrievers.store.digest import digest

skip_without("openai", "openai")


def test_each_question_is_asked_once_ever(room):
    here = room(say)
    with here.client(concurrency=4) as client, ThreadPoolExecutor(8) as pool:
        texts = [f"q{i % 5}" for i in range(40)]
        replies = list(pool.map(lambda text: client.ask(ask(text)), texts))
    assert replies == [end(f"to {text}") for text in texts]
    assert len(here.server.calls) == 5
    with here.client() as client:
        assert client.ask(ask("q3")) == end("to q3")
    assert len(here.server.calls) == 5
    account = CostLedger(here.path, PRICES).add_up()
    assert (account.calls, account.usage.output, account.lost) == (5, 5 * OUTPUT, 0)


def test_an_answer_that_cannot_be_kept_lets_nobody_wait(room, monkeypatch):
    here = room(say)

    def refuse(key, answer):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(here.answers, "keep", refuse)
    with here.client(concurrency=4) as client, ThreadPoolExecutor(4) as pool:
        tries = [pool.submit(client.ask, ask(f"q{i % 2}")) for i in range(8)]
        errors = {str(item.exception()) for item in tries}
    assert errors <= {"disk I/O error", "an answer could not be kept: disk I/O error"}
    with here.client() as client:
        with pytest.raises(sqlite3.OperationalError):
            client.ask(ask("q1"))
        with pytest.raises(AssayError, match="could not be kept"):
            client.ask(ask("q2"))
    account = CostLedger(here.path, PRICES).add_up()
    assert account.lost == 0
    assert account.calls == len(here.server.calls) > 0


def test_refused_and_cut_answers_are_kept_with_their_reason(room):
    def react(call):
        cut = "cut" in call.texts[0]
        return Say("half", "length") if cut else Say("", "content_filter")

    here = room(react)
    for _ in range(2):
        with here.client() as client:
            assert client.ask(ask("cut")) == KeptAnswer("half", "length")
            bad = client.ask(ask("bad"))
            assert (bad.text, bad.ending, bool(bad.note)) == ("", "refusal", True)
    assert len(here.server.calls) == 2


def test_equal_prompts_asked_at_once_wait_for_one_call(room):
    def react(call):
        time.sleep(0.2)
        return Status(500) if call.before == 0 else say(call)

    here = room(react)
    with here.client() as client, ThreadPoolExecutor(4) as pool:
        tries = [pool.submit(client.ask, ask("q")) for _ in range(4)]
        assert {item.result() for item in tries} == {end("to q")}
    assert len(here.server.calls) == 2


def test_an_answer_dearer_than_possible_is_kept_and_stops_everybody(room, monkeypatch):
    here = room(say)
    monkeypatch.setattr(here.model, "most_output", OUTPUT - 1)
    monkeypatch.setattr(Prompt, "most_tokens", 1)
    with here.client(budget=1.0) as client:
        assert client.ask(ask("q1")) == end("to q1")
        with pytest.raises(AssayError, match="cost more than it could by its length"):
            client.ask(ask("q2"))
        assert client.ask(ask("q1")) == end("to q1")  # what is kept costs nothing
    assert len(here.server.calls) == 1


def test_what_calls_under_way_do_not_use_up_is_there_for_others(room):
    def react(call):
        time.sleep(0.1)
        return say(call)

    here = room(react)
    worst = PRICES.worst(ask("q0").most_tokens, MOST_OUTPUT)
    with here.client(1.5 * worst) as client, ThreadPoolExecutor(2) as pool:
        tries = [pool.submit(client.ask, ask(f"q{i}")) for i in range(2)]
        assert [item.result() for item in tries] == [end("to q0"), end("to q1")]
    assert here.server.most_at_once == 1


def test_the_budget_holds_over_a_kill(room):
    here = room(say)
    worst = PRICES.worst(ask("q1").most_tokens, MOST_OUTPUT)
    with CostLedger(here.path, PRICES, None) as ledger:
        ledger.reserve(ask("q1").most_tokens, MOST_OUTPUT)  # and never anything more
    with here.client(1.9 * worst) as client, pytest.raises(AssayError, match="no further call"):
        client.ask(ask("q2"))
    assert not here.server.calls
    with here.client(2.1 * worst) as client:
        assert client.ask(ask("q2")) == end("to q2")


def test_an_answer_is_kept_under_the_key_that_is_given(room):
    here = room(say)
    with here.client() as client:
        assert client.ask(replace(ask("q1"), key="a")) == end("to q1")
        assert client.ask(replace(ask("q2"), key="a")) == end("to q1")
        assert client.ask(replace(ask("q2"), key="b")) == end("to q2")
    assert here.answers.find(["a", "b", "c"]) == {"a": end("to q1"), "b": end("to q2")}


def test_answers_that_were_paid_for_are_found_again(room):
    """Their kind, keys and form are those of every cache that is out there."""
    here = room(say)
    key = digest("answer", here.model.identity, "Some instructions.\nq")
    usage = b'{"input": 7, "cache_write": 0, "cache_read": 0, "output": 2}'
    kept = b'{"text": "to q", "ending": "end", "note": "", "usage": ' + usage + b"}"
    here.cache.put_many("answers", {key: kept})
    with here.client() as client:
        assert client.ask(ask("q")) == end("to q")
        assert client.ask(ask("q")).usage == Usage(input=7, output=2)
        assert (
            client.ask(ask("other")).usage
            == here.answers.find(
                [digest("answer", here.model.identity, "Some instructions.\nother")]
            )
            .popitem()[1]
            .usage
        )
    assert len(here.server.calls) == 1
