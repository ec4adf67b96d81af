"""What is sent to each API, in what order, and how much at a time."""

import json
import time

import pytest
from doubles.language_model_server import KEY, Hang
from tools.context_writer import ContextWriter, make_documents


def test_every_chunk_gets_a_context_and_nothing_is_asked_twice(desk):
    outcome = desk.run()
    assert outcome.stopped == ""
    assert desk.texts(outcome)["doc1-0"] == "About word1x0."
    assert len(set(desk.texts(outcome).values())) == 8
    again = desk.run()
    assert again.known == outcome.known
    assert len(desk.server.calls) == 8
    assert set(desk.server.answered.values()) == {1}


def test_the_document_comes_first_and_is_cached_for_its_siblings(desk):
    outcome = desk.run()
    for call in desk.server.calls:
        text = "".join(call.texts)
        assert text.index("<document>") < text.index("<chunk>")
        assert call.pair[0].startswith("Title ")
    assert outcome.ledger.run.usage.cache_read > 0
    if desk.provider == "anthropic":
        for call in desk.server.calls:
            document, question = call.body["messages"][0]["content"]
            assert document["cache_control"] == {"type": "ephemeral"}
            assert document["text"].endswith("</document>")
            assert "cache_control" not in question
        # One wrote each document, the other three read it: the first was waited for.
        written = [usage["cache_creation_input_tokens"] > 0 for usage in desk.server.usages]
        assert sum(written) == 2
    desk.server.calls.clear()
    desk.documents, desk.chunks = make_documents(3, 1)  # a single chunk has no sibling
    assert desk.run(model="other").stopped == ""
    assert desk.server.calls
    assert not any("cache_control" in json.dumps(call.body) for call in desk.server.calls)


def test_the_first_chunk_of_a_document_goes_alone(serve, tmp_path):
    pytest.importorskip("anthropic", reason="needs the extra `anthropic`")
    seen = []

    def react(call):
        document = call.pair[0][:7]
        first = document not in [name for name, _ in seen]
        seen.append((document, "first" if first else "sibling"))
        if first:
            time.sleep(0.2)
            seen.append((document, "answered"))
        return

    desk = ContextWriter(serve(react), tmp_path / "cache", "anthropic")
    assert desk.run().stopped == ""
    for document in ("Title 0", "Title 1"):
        steps = [step for name, step in seen if name == document]
        assert steps == ["first", "answered", "sibling", "sibling", "sibling"]
    assert [step for _, step in seen[:2]] == ["first", "first"]  # both documents at a time


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_calls_at_a_time_than_set(desk, limit):
    desk.documents, desk.chunks = make_documents(3, 6)
    desk.server.react = lambda call: Hang(0.02)
    desk.run(concurrency=limit)
    assert desk.server.most_at_once == limit


def test_what_is_sent_to_each_api(serve, tmp_path):
    pytest.importorskip("anthropic", reason="needs the extra `anthropic`")
    pytest.importorskip("openai", reason="needs the extra `openai`")
    server = serve()
    ContextWriter(server, tmp_path / "a", "anthropic").run(max_tokens=77)
    body = server.calls[0].body
    assert body["max_tokens"] == 77
    assert body["thinking"] == {"type": "disabled"}
    assert KEY in " ".join(server.calls[0].headers.values())
    server.calls.clear()
    ContextWriter(server, tmp_path / "b", "anthropic").run(thinking_tokens=1000)
    assert server.calls[0].body["max_tokens"] == 1100
    assert "thinking" not in server.calls[0].body
    server.calls.clear()
    ContextWriter(server, tmp_path / "c", "openai").run(max_tokens=77)
    assert server.calls[0].body.keys() == {"model", "messages", "max_tokens"}
    assert isinstance(server.calls[0].body["messages"][0]["content"], str)


def test_openai_itself_is_told_where_the_shared_document_ends(serve, tmp_path, monkeypatch):
    pytest.importorskip("openai", reason="needs the extra `openai`")
    server = serve()
    from assay.retrievers.language_models.openai import OpenAiModel

    monkeypatch.setattr(OpenAiModel, "address", f"{server.url}/v1")
    desk = ContextWriter(server, tmp_path / "cache", "openai")
    desk.run(model="gpt-6-luna", base_url=None, prices=None)
    keys = set()
    for call in server.calls:
        document, question = call.body["messages"][0]["content"]
        assert document["prompt_cache_breakpoint"] == {"mode": "explicit"}
        assert "prompt_cache_breakpoint" not in question
        assert call.body["prompt_cache_options"] == {"mode": "explicit"}
        assert call.body["reasoning_effort"] == "none"
        assert call.body["max_completion_tokens"] == 100
        keys.add(call.body["prompt_cache_key"])
    assert len(keys) == 2
