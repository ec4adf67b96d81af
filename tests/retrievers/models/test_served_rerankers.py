"""Rerankers behind HTTP, for real over a socket, and language models that put lists in order."""

import json
import re

import pytest
from doubles.language_model_server import KEY, Body, Say, Status
from doubles.model_server import rate
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tools.served_models import choose_llm, choose_reranker, make_hits, read_reranker

from assay.retrievers.base import AssayError
from assay.retrievers.language_models.providers import AnthropicSettings
from assay.retrievers.language_models.search_model import LEDGERS
from assay.retrievers.models.served.listwise import read_permutation
from assay.retrievers.part_conformance import check_part
from assay.retrievers.services import cost_meter as charges
from assay.retrievers.stages.rerank import RerankSettings

PROVIDERS = ("cohere", "voyage", "jina", "tei")
TEXTS = ["a grey heron", "the red fox", "two red foxes", "an old badger"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_scores_keep_their_order_in_calls_of_any_size(provider, serve, resources):
    texts = [f"{text} {i}" for i in range(10) for text in TEXTS]
    scores = choose_reranker(serve(), provider).build(resources).score("red fox", texts)
    assert scores == pytest.approx([rate("red fox", text) for text in texts])
    check_part(choose_reranker(serve(), provider), resources)


@pytest.mark.parametrize(
    "fault",
    [
        Status(429, {"retry-after": "0.05"}),
        Body(b'{"results": ['),
        Body(b'{"results": [{"index": 0, "relevance_score": 0.5}]}'),
        Body(json.dumps({"results": [{"index": 9, "relevance_score": 0.5}] * 4}).encode()),
    ],
    ids=str,
)
def test_a_passing_fault_is_tried_again(fault, serve, resources):
    server = serve(lambda call: fault if call.number == 0 else None)
    with charges.watch() as watched:
        scores = choose_reranker(server, "jina").build(resources).score("red fox", TEXTS)
    assert scores == pytest.approx([rate("red fox", text) for text in TEXTS])
    assert watched.counts["retries"] == 1


def test_a_score_that_is_no_number_stops_the_run(serve, resources):
    rows = [{"index": 0, "relevance_score": float("nan")}]
    server = serve(lambda call: Body(json.dumps({"results": rows}).encode()))
    with pytest.raises(AssayError, match="gives a score that is not finite"):
        choose_reranker(server, "jina").build(resources).score("red fox", ["fox"])
    assert len(server.calls) == 1


def test_reranking_is_billed_alike_whether_scores_are_kept_or_new(serve, resources):
    server = serve()
    wanted = {
        "voyage": {"tokens": 19, "nano_usd": 38_000},
        "cohere": {"searches": 1, "nano_usd": 2_000_000},
    }
    for provider, counts in wanted.items():
        model = choose_reranker(server, provider, price_usd=2.0)
        for number in range(2):
            stage = RerankSettings(type="rerank", model=model).build(resources)
            with charges.watch() as watched:
                hits = stage.apply("red fox", make_hits(TEXTS)).hits
            assert hits[0].chunk.text == "the red fox"
            assert watched.counts == counts, (provider, number)
    assert len(server.calls) == 2


def test_scores_of_another_unit_are_asked_anew(serve, resources):
    server = serve()
    for scores in ("probability", "logit", "probability", "logit"):
        model = choose_reranker(server, "tei", scores=scores)
        RerankSettings(type="rerank", model=model).build(resources).apply("fox", make_hits(TEXTS))
    assert [call.body["raw_scores"] for call in server.calls] == [False, True]


def test_a_search_of_many_passages_is_reserved_as_the_searches_that_it_may_be(serve, resources):
    server = serve()
    keys = {"price_usd": 2.0, "max_cost_usd": 0.002}  # a search
    choose_reranker(server, "cohere", **keys).build(resources).score("red fox", ["fox"] * 100)
    assert len(server.calls) == 1
    # With a query of 300 bytes a passage of 201 counts as two.
    keys["max_cost_usd"] = 0.005
    model = choose_reranker(server, "cohere", **keys).build(resources)
    with pytest.raises(AssayError, match="allows no further call"):
        model.score("q" * 300, ["f" * 201] * 100)
    assert len(server.calls) == 1


def ask_cohere(sdk, server):
    client = sdk.ClientV2(KEY, base_url=f"{server.url}/cohere")
    return client.rerank(model="some", query="red fox", documents=TEXTS).results


def ask_voyage(sdk, server):
    client = sdk.Client(KEY, base_url=f"{server.url}/voyage")
    return client.rerank("red fox", TEXTS, model="some").results


@pytest.mark.parametrize(("name", "asked"), [("cohere", ask_cohere), ("voyageai", ask_voyage)])
def test_the_makers_own_clients_can_talk_to_this_server(name, asked, serve):
    rows = asked(pytest.importorskip(name), serve())
    scores = [row.relevance_score for row in sorted(rows, key=lambda row: row.index)]
    assert scores == [rate("red fox", text) for text in TEXTS]


def list_passages(call):
    return re.findall(r"^\[\d+\] (.*)$", "\n".join(call.texts), re.MULTILINE)


def by_number(call):
    """Put passages first that end in a larger number."""
    found = [int(text.split()[-1]) for text in list_passages(call)]
    order = sorted(range(len(found)), key=lambda i: -found[i])
    return Say(" > ".join(f"[{i + 1}]" for i in order))


def test_a_window_slides_from_the_last_to_the_first(ask, resources):
    server = ask(by_number)
    texts = [f"passage {i}" for i in range(9)]
    scores = choose_llm(server, window=4, step=2).build(resources).score("which", texts)
    windows = [[int(text.split()[-1]) for text in list_passages(call)] for call in server.calls]
    assert windows == [[5, 6, 7, 8], [3, 4, 8, 7], [1, 2, 8, 7], [0, 8, 7]]
    assert sorted(range(9), key=lambda i: -scores[i])[:2] == [8, 7]
    assert all(0 < score < 1 for score in scores)
    check_part(choose_llm(ask(lambda call: Say("[2] > [1]"))), resources)


def test_a_list_is_asked_about_once_and_always_tells_what_it_cost(ask, resources):
    server = ask(by_number)
    prices = {"input": 1.0, "cache_write": 1.0, "cache_read": 1.0, "output": 5.0}
    told = []
    for _ in range(2):
        stage = RerankSettings(type="rerank", model=choose_llm(server, prices=prices))
        with charges.watch() as watched:
            hits = stage.build(resources).apply("which", make_hits(["p 1", "p 3", "p 2"])).hits
        assert [hit.chunk.text for hit in hits] == ["p 3", "p 2", "p 1"]
        told.append(dict(watched.counts))
    assert len(server.calls) == 1
    assert told[0] == told[1]
    assert told[0]["nano_usd"] == 1000 * (told[0]["tokens"] + 4 * 10)


@pytest.mark.parametrize(
    ("said", "first", "counted"),
    [
        ("The order is [3] > [1] > [2].", "c", {}),
        ("3, 1, 2", "c", {}),
        ("[3] > [3] > [9] > [0]", "c", {"incomplete": 1}),
        ("I cannot say.", "a", {"incomplete": 1}),
    ],
)
def test_whatever_is_answered_each_passage_has_a_place(said, first, counted, ask, resources):
    model = choose_llm(ask(lambda call: Say(said))).build(resources)
    with charges.watch() as watched:
        scores = model.score("q", ["a", "b", "c"])
    assert len(set(scores)) == 3
    assert ["a", "b", "c"][scores.index(max(scores))] == first
    assert dict(watched.noted) == counted


@given(text=st.text(alphabet="0123456789[]> ,x\n", max_size=60), number=st.integers(1, 12))
def test_a_permutation_names_no_place_twice_and_none_that_is_not(text, number):
    places = read_permutation(text, number)
    assert len(places) == len(set(places))
    assert all(0 <= place < number for place in places)


def test_a_key_goes_to_no_address_that_a_config_names_unless_it_is_meant(ask, resources):
    server = ask(by_number)
    for variable in (None, "OPENAI_API_KEY"):
        model = {"type": "openai", "model": "some", "base_url": f"{server.url}/v1"}
        named = {"key_variable": variable} if variable else {}
        read_reranker({"type": "llm", "model": {**model, **named}}).build(resources).score(
            "q", ["p 1", "p 2"]
        )
    assert [KEY in call.headers["authorization"] for call in server.calls] == [False, True]


def test_a_budget_stops_before_the_call_that_would_exceed_it(ask, resources):
    server = ask(by_number)
    prices = {"input": 1000.0, "cache_write": 1000.0, "cache_read": 1000.0, "output": 1000.0}
    model = choose_llm(server, prices=prices, max_cost_usd=0.1).build(resources)
    with pytest.raises(AssayError, match=r"budget of 0\.1 USD allows no further call"):
        model.score("which", ["p 1", "p 2"])
    assert not server.calls
    with pytest.raises(AssayError, match="its prices are not known"):
        choose_llm(server, max_cost_usd=0.1).build(resources)


def test_windows_of_any_size_share_one_budget(ask, resources):
    server = ask(by_number)
    prices = {"input": 1.0, "cache_write": 1.0, "cache_read": 1.0, "output": 1.0}

    def score(address, window):
        model = {"type": "openai", "model": "some", "base_url": f"{server.url}{address}"}
        keys = {"prices": prices, "max_cost_usd": 1.0, "window": window, "step": 2}
        read_reranker({"type": "llm", "model": model, **keys}).build(resources).score(
            "q", ["p 1", "p 2"]
        )

    for window in (10, 20, 40):
        score("/v1", window)
    (ledger,) = (resources.cache.root / LEDGERS).glob("*.jsonl")
    assert ledger.read_text().count("settled") == 3
    score("/other/v1", 10)
    assert len([*(resources.cache.root / LEDGERS).glob("*.jsonl")]) == 2


def test_ranks_are_not_compared_with_scores():
    model = read_reranker({"type": "llm"})
    with pytest.raises(ValidationError, match="enough: compares scores"):
        RerankSettings(type="rerank", model=model, enough=0.5)
    assert RerankSettings(type="rerank", model=model).scale == "never"
    assert RerankSettings(type="rerank").scale == "own"
    with pytest.raises(ValidationError, match="at most the window"):
        read_reranker({"type": "llm", "window": 4, "step": 5})
    with pytest.raises(ValidationError, match=r"model: \{type: cohere, model: rerank-v3.5\}"):
        read_reranker({"model": "cohere/rerank-v3.5"})
    other = read_reranker({"type": "llm", "model": {"type": "anthropic"}})
    assert isinstance(other.model, AnthropicSettings)
