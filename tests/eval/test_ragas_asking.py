"""Asking a model for real over a socket: once each, within a budget, through faults."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from language_model_server import (
    KEY,
    OUTPUT,
    Call,
    Drop,
    LanguageModelServer,
    Reaction,
    Say,
    Status,
)

from eval.experiments.llm_client import CUT, Asker, Estimator, Library
from eval.ragas.judging import NoAnswerError, Question, Reply
from retrievers.base import AssayError
from retrievers.contextualisation.generation import GenerationSettings
from retrievers.language_models.base import LanguageModel
from retrievers.language_models.ledger import Ledger, read_account
from retrievers.language_models.openai import OpenAiSettings
from retrievers.language_models.prices import Prices
from retrievers.settings import Workshop
from retrievers.store.cache import Cache

pytest.importorskip("openai", reason="needs the extra `openai`")

PRICES = Prices(input=1, cache_write=1.25, cache_read=0.1, output=5)
React = Callable[[Call], Reaction]


class Room:
    """A server, a model of it, a cache and a ledger."""

    def __init__(self, server: LanguageModelServer, folder: Path) -> None:
        self.server = server
        self.path = folder / "ledger.jsonl"
        workshop = Workshop(Cache(folder / "cache"))
        settings = OpenAiSettings(
            model="some", base_url=f"{server.url}/v1", max_tokens=50, timeout_seconds=5
        )
        self.model: LanguageModel = settings.build(workshop)
        self.library = Library(workshop.cache, self.model)

    @contextmanager
    def asker(self, budget: float | None = None, **settings: object) -> Iterator[Asker]:
        calling = GenerationSettings(**{"backoff_seconds": 0.01, "attempts": 4} | settings)
        with (
            Ledger(self.path, PRICES, budget) as ledger,
            self.model,
            Asker(self.model, ledger, calling, self.library) as asker,
        ):
            yield asker


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[React], Room]]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    servers = []

    def make(react: React) -> Room:
        servers.append(LanguageModelServer(react).__enter__())
        return Room(servers[-1], tmp_path)

    yield make
    for server in servers:
        server.__exit__()


def say(call: Call) -> Reaction:
    return Say(f"to {call.texts[0].split()[-1]}")


def ask(text: str) -> Question:
    return Question("Some instructions.", text, "an example", shared=True)


def test_each_question_is_asked_once_ever(room: Callable[[React], Room]) -> None:
    here = room(say)
    with here.asker(concurrency=4) as asker, ThreadPoolExecutor(8) as pool:
        texts = [f"q{at % 5}" for at in range(40)]
        replies = list(pool.map(lambda text: asker(ask(text)), texts))
    assert replies == [Reply(f"to {text}") for text in texts]
    assert len(here.server.calls) == 5
    with here.asker() as asker:
        assert asker(ask("q3")) == Reply("to q3")
    assert len(here.server.calls) == 5
    account = read_account(here.path, PRICES)
    assert (account.calls, account.usage.output, account.lost) == (5, 5 * OUTPUT, 0)


def test_faults_are_tried_again_and_accounted_for(room: Callable[[React], Room]) -> None:
    faults: list[Reaction] = [Status(500), Status(429, {"retry-after": "0"}), Drop()]
    here = room(lambda call: faults[call.before] if call.before < 3 else say(call))
    with here.asker() as asker:
        assert asker(ask("q")) == Reply("to q")
    account = read_account(here.path, PRICES)
    assert (account.calls, account.lost) == (2, 1)  # the broken connection may have been charged


def test_a_fault_that_stays_stops_everybody(room: Callable[[React], Room]) -> None:
    here = room(lambda call: Status(500))
    with here.asker() as asker:
        for text in ("q1", "q2"):
            with pytest.raises(AssayError, match=r"HTTP 500.*given up after 4 attempts"):
                asker(ask(text))
    assert len(here.server.calls) == 4


def test_an_answer_that_cannot_be_kept_lets_nobody_wait(
    room: Callable[[React], Room], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = room(say)

    def refuse(key: str, answer: object) -> Reply:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(here.library, "keep", refuse)
    with here.asker(concurrency=4) as asker, ThreadPoolExecutor(4) as pool:
        tries = [pool.submit(asker, ask(f"q{at % 2}")) for at in range(8)]
        errors = {str(item.exception()) for item in tries}
    assert errors <= {"disk I/O error", "an answer could not be kept: disk I/O error"}
    account = read_account(here.path, PRICES)
    assert account.lost == 0
    assert account.calls == len(here.server.calls) > 0


def test_a_refused_key_stops_at_once_and_is_not_shown(room: Callable[[React], Room]) -> None:
    here = room(lambda call: Status(401, message=f"wrong key {KEY}"))
    with here.asker() as asker, pytest.raises(AssayError) as caught:
        asker(ask("q"))
    assert KEY not in str(caught.value)
    assert len(here.server.calls) == 1


def test_the_budget_is_never_exceeded_and_holds_over_runs(room: Callable[[React], Room]) -> None:
    here = room(say)
    # At worst a call costs 1.25 a million for a prompt of at most its bytes and the chat's marks,
    # and 5 a million for 50 tokens; two of those calls fit, and as they cost less, some more.
    worst = (1.25 * (len("Some instructions.\nq00") + 200) + 5 * 50) / 1e6
    budget = 2 * worst
    for _ in range(2):
        with here.asker(budget) as asker, ThreadPoolExecutor(4) as pool:
            tries = [pool.submit(asker, ask(f"q{at:02}")) for at in range(30)]
            errors = [error for item in tries if (error := item.exception())]
        assert errors
        assert all("allows no further call" in str(error) for error in errors)
        assert read_account(here.path, PRICES).committed_usd <= budget
    calls = len(here.server.calls)
    assert 2 <= calls < 30
    with here.asker(2 * budget) as asker:
        for at in range(30):
            try:
                asker(ask(f"q{at:02}"))
            except AssayError:
                break
    assert len({call.texts[0] for call in here.server.calls}) == len(here.server.calls) > calls


def test_a_prompt_that_is_too_long_is_no_answer_and_stops_nothing(
    room: Callable[[React], Room],
) -> None:
    def react(call: Call) -> Reaction:
        long = "long" in call.texts[0]
        return Status(400, message="maximum context length is 10") if long else say(call)

    with room(react).asker() as asker:
        with pytest.raises(NoAnswerError, match="longer than the model can read"):
            asker(ask("long"))
        assert asker(ask("short")) == Reply("to short")


def test_refused_and_cut_answers_are_kept_with_their_reason(room: Callable[[React], Room]) -> None:
    def react(call: Call) -> Reaction:
        cut = "cut" in call.texts[0]
        return Say("half", "length") if cut else Say("", "content_filter")

    here = room(react)
    for _ in range(2):
        with here.asker() as asker:
            assert asker(ask("cut")) == Reply("half", CUT)
            assert asker(ask("bad")).problem.startswith("the model refused: ")
    assert len(here.server.calls) == 2


def test_leaving_waits_for_what_is_under_way_and_keeps_it(room: Callable[[React], Room]) -> None:
    held = threading.Event()

    def react(call: Call) -> Reaction:
        held.set()
        time.sleep(0.5)
        return say(call)

    here = room(react)
    pool = ThreadPoolExecutor(1)
    with here.asker() as asker:
        under_way = pool.submit(asker, ask("q"))
        assert held.wait(30)
    assert under_way.result(5) == Reply("to q")
    with here.asker() as asker:
        asker(ask("q"))
    assert len(here.server.calls) == 1
    assert read_account(here.path, PRICES).lost == 0


def test_an_estimate_asks_nothing_and_counts_what_is_not_known(
    room: Callable[[React], Room],
) -> None:
    here = room(say)
    with here.asker() as asker:
        asker(ask("known"))
    made = Estimator(here.model, PRICES, here.library)
    assert made(ask("known")) == Reply("to known")
    for _ in range(2):
        assert made(ask("x" * 281)) == Reply("an example")
    assert (made.known, made.to_ask) == (1, 1)
    assert made.usage.input == 100  # 300 bytes, at 3 a token
    assert made.usage.output == 3
    assert made.usd == pytest.approx((100 + 5 * 3) / 1e6)
    assert made.worst_usd == pytest.approx((1.25 * 500 + 5 * 50) / 1e6)
    assert len(here.server.calls) == 1
