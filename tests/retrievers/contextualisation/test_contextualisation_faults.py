"""What becomes of a call that fails, or is turned down."""

import time
from dataclasses import replace
from itertools import pairwise

import pytest
from doubles.language_model_server import KEY, Body, Drop, Hang, Say, Status
from tools.context_writer import ContextWriter, first_time, make_documents

from assay.retrievers.base import Chunk, Document
from assay.retrievers.services.ledger import CallTotals


@pytest.mark.parametrize(
    ("fault", "lost"),
    [
        (Status(429), 0),
        (Status(500), 0),
        (Status(529, kind="overloaded_error"), 0),
        (Status(504), 1),
        (Hang(1.5), 1),
        (Drop(), 1),
        (Drop(half=True), 1),
        (Body(b'{"id": "x", "content": ['), 1),
        (Body(b"[]"), 1),
        (Body(b"null"), 1),
        (Body(b'{"content": [], "choices": []}'), 1),
    ],
    ids=str,
)
def test_a_fault_is_tried_again_and_accounted_for(desk, fault, lost):
    desk.documents, desk.chunks = make_documents(2, 2)
    desk.server.react = first_time(fault, fault)
    outcome = desk.run(timeout_seconds=0.5 if isinstance(fault, Hang) else 60.0)
    assert outcome.stopped == ""
    # What hung is answered, too, when nobody waits for it.
    assert isinstance(fault, Hang) or set(desk.server.answered.values()) == {1}
    assert outcome.ledger.run.lost == 8 * lost
    assert (outcome.ledger.run.lost_usd > 0) == bool(lost)
    assert outcome.ledger.run.calls == 4 + 8 * lost
    # Threads add their sums in any order.
    sums = {name: pytest.approx(getattr(outcome.ledger.run, name)) for name in ("usd", "lost_usd")}
    assert desk.account() == replace(outcome.ledger.run, **sums)


def test_waits_grow(desk):
    times = []

    def react(call):
        times.append(time.monotonic())
        return Status(500) if call.before < 4 else None

    desk.documents, desk.chunks = make_documents(1, 1)
    desk.server.react = react
    desk.run(backoff_seconds=0.05)
    waits = [late - early for early, late in pairwise(times)]
    for number, pause in enumerate(waits):
        assert pause >= 0.05 * 2**number / 2


def test_gives_up_in_the_end_and_keeps_what_there_is(desk):
    desk.server.react = lambda call: Status(503) if "word1x2" in call.pair[1] else None
    outcome = desk.run(attempts=3, concurrency=1)
    assert "HTTP 503: told to; given up after 3 attempts" in outcome.stopped
    kept = len(outcome.known)
    assert 0 < kept < 8
    desk.server.react = lambda call: None
    outcome = desk.run()
    assert len(outcome.known) == 8
    assert set(desk.server.answered.values()) == {1}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (Status(401, message=f"Incorrect API key provided: {KEY}"), "refuses "),
        (Status(404, message="no such model"), "HTTP 404: no such model"),
        (Status(400, message=f"bad field {KEY}"), "HTTP 400: bad field ***"),
        (Status(400, message="Your credit balance is too low"), "nothing more can be paid"),
        (Status(429, kind="insufficient_quota"), "nothing more can be paid"),
        (Status(429, {"retry-after": "86400"}), "asks to wait 86400 s"),
    ],
    ids=lambda value: str(getattr(value, "code", "")),
)
def test_what_cannot_be_mended_by_waiting_stops_at_once(desk, status, words):
    desk.server.react = lambda call: status
    outcome = desk.run(concurrency=1)
    assert words in outcome.stopped
    assert KEY not in outcome.stopped
    assert len(desk.server.calls) == 1
    assert outcome.ledger.run == CallTotals()


def test_a_prompt_that_does_not_fit_is_sent_with_less_of_the_document(serve, tmp_path, provider):
    def react(call):
        if len(call.pair[0]) > 3000:
            return Status(400, message="prompt is too long: 9 tokens > 5 maximum")
        return None

    desk = ContextWriter(serve(react), tmp_path / "cache", provider)
    text = "".join(f"word{number} stands here. " for number in range(500))
    desk.documents = [Document("long", text, title="A long one")]
    desk.chunks = [Chunk("c", "long", 5000, 5100, text[5000:5100])]
    outcome = desk.run()
    assert outcome.stopped == ""
    assert outcome.narrowed > 0
    document = desk.server.calls[-1].pair[0]
    assert document.startswith("A long one")
    assert text[4900:5200] in document
    assert document.count("[…]") == 2


def test_refusals_and_empty_answers_are_reported_and_not_asked_again(serve, tmp_path, provider):
    refusal = "refusal" if provider == "anthropic" else "content_filter"

    def react(call):
        return {
            "word0x1": Say("", refusal),
            "word0x2": Say("   "),
            "word0x3": Say("cut sho", "max_tokens" if provider == "anthropic" else "length"),
        }.get(call.pair[1].split()[0])

    desk = ContextWriter(serve(react), tmp_path / "cache", provider)
    outcome = desk.run()
    endings = {known.ending for known in outcome.known.values()}
    assert endings == {"end", "length", "refusal"}
    assert sum(not known.text for known in outcome.known.values()) == 2
    desk.run()
    assert len(desk.server.calls) == 8
    if provider == "openai":  # whose filter may turn the prompt away
        filtered = Status(400, kind="content_filter", message="violates the policy")
        server = serve(lambda call: filtered if "word0x1" in call.pair[1] else None)
        outcome = ContextWriter(server, tmp_path / "other", "openai").run()
        noted = [known.note for known in outcome.known.values() if known.note]
        assert noted == ["violates the policy"]
