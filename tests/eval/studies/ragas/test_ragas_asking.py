"""The questions of ragas put to a model over a socket, and what its answers mean to ragas."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from doubles.language_model_server import KEY, Call, LanguageModelServer, Reaction, Say, Status
from tools.extras import skip_without
from tools.llm_fixtures import LlmFixture, MakeLlmFixture

from assay.eval.llm.client import CUT, Asker, Estimator
from assay.eval.llm.question import NoAnswerError, Question, Reply

skip_without("openai", "openai")


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeLlmFixture]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LanguageModelServer() as server:

        def make(react: Callable[[Call], Reaction]) -> LlmFixture:
            server.react = react
            return LlmFixture(server, tmp_path, Asker)

        yield make


def ask(text: str) -> Question:
    return Question("Some instructions.", text, "an example", shared=True)


def test_a_question_that_is_too_long_has_no_answer_and_stops_nothing(
    room: MakeLlmFixture,
) -> None:
    def react(call: Call) -> Reaction:
        long = "long" in call.texts[0]
        return Status(400, message="maximum context length is 10") if long else Say("yes")

    with room(react).client() as asker:
        with pytest.raises(NoAnswerError, match="longer than the model can read"):
            asker(ask("long"))
        assert asker(ask("short")) == Reply("yes")


def test_refused_and_cut_answers_are_kept_with_their_reason(room: MakeLlmFixture) -> None:
    def react(call: Call) -> Reaction:
        cut = "cut" in call.texts[0]
        return Say("half", "length") if cut else Say("", "content_filter")

    here = room(react)
    for _ in range(2):
        with here.client() as asker:
            assert asker(ask("cut")) == Reply("half", CUT)
            assert asker(ask("bad")).problem.startswith("the model refused: ")
    assert len(here.server.calls) == 2


def test_an_estimate_answers_with_examples_and_leaves_the_providers_cache_out(
    room: MakeLlmFixture,
) -> None:
    here = room(lambda call: Say("yes"))
    with here.client() as asker:
        asker(ask("known"))
    here.model.cached_from = 1
    made = Estimator(here.model, None, here.answers)
    assert made(ask("known")) == Reply("yes")
    assert made(ask("new")) == Reply("an example")
    assert (made.known, made.to_ask, len(here.server.calls)) == (1, 1, 1)
    assert made.usage.cache_write == made.usage.cache_read == 0 < made.usage.input
