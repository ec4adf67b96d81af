"""Language models that are asked which of two passages is better, for real over a socket."""

import json
import re
from itertools import permutations

import pytest
from doubles.language_model_server import Say, Status
from hypothesis import given
from hypothesis import strategies as st
from tools.served_models import choose_llm, make_hits

from assay.retrievers.base import AssayError
from assay.retrievers.language_models.search_model import LEDGERS
from assay.retrievers.models.served.pairwise import PairwiseSettings, read_choice
from assay.retrievers.part_conformance import check_part
from assay.retrievers.services import cost_meter as charges
from assay.retrievers.stages.rerank import RerankSettings

PRICES = {"input": 1.0, "cache_write": 1.0, "cache_read": 1.0, "output": 5.0}
METHODS = ("sliding", "all")
methods = pytest.mark.parametrize("method", METHODS)


def list_numbers(call):
    found = re.findall(r"^Passage [AB]: .*?(\d+)$", "\n".join(call.texts), re.MULTILINE)
    return [int(number) for number in found]


def by_number(call):
    """Prefer the passage that ends in the larger number."""
    first, second = list_numbers(call)
    return Say("A" if first > second else "B")


def order_of(scores):
    return sorted(range(len(scores)), key=lambda i: -scores[i])


@methods
def test_every_pair_is_asked_about_in_both_orders(method, ask, resources):
    server = ask(by_number)
    texts = [f"passage {i}" for i in (3, 0, 4, 1, 2)]
    model = choose_llm(server, "llm_pairs", method=method)
    scores = model.build(resources).score("which", texts)
    assert [texts[i] for i in order_of(scores)] == [f"passage {i}" for i in (4, 3, 2, 1, 0)]
    assert all(0 < score < 1 for score in scores)
    asked = [tuple(list_numbers(call)) for call in server.calls]
    assert {(second, first) for first, second in asked} == set(asked)
    assert len(set(asked)) == len(asked)
    if method == "all":
        assert set(asked) == set(permutations(range(5), 2))


def test_so_many_places_are_settled_as_there_are_passes(ask, resources):
    texts = [f"passage {i}" for i in range(7)]
    for passes, calls in ((1, 12), (2, 22), (3, 30)):
        server = ask(by_number)
        model = choose_llm(server, "llm_pairs", passes=passes)
        order = order_of(model.build(resources).score("which", texts))
        assert order[:passes] == [6, 5, 4][:passes]
        assert order[passes:] == [*range(7 - passes)]
        assert isinstance(model, PairwiseSettings)
        assert len(server.calls) == model.count_calls(7) == calls


@methods
@pytest.mark.parametrize("liked", ["A", "B"])
def test_a_liking_for_a_place_changes_nothing(method, liked, ask, resources):
    server = ask(lambda call: Say(liked))
    model = choose_llm(server, "llm_pairs", method=method, passes=2).build(resources)
    assert order_of(model.score("which", ["p 1", "p 3", "p 2"])) == [0, 1, 2]


@pytest.mark.parametrize(
    ("said", "choice"),
    [
        ("A", "a"),
        ("**Passage B**.", "b"),
        ("b", "b"),
        ("Passage A is more relevant.", "a"),
        ("Passage A is better than Passage B.", ""),
        ("A passage is as good as the other", ""),
        ("I cannot say.", ""),
        ("", ""),
    ],
)
def test_a_choice_is_read_where_one_is_made(said, choice):
    assert read_choice(said) == choice


@given(st.text(alphabet="abAB psage*.\n", max_size=40))
def test_no_answer_is_read_as_anything_else(text):
    assert read_choice(text) in ("a", "b", "")


def test_what_is_not_said_is_a_tie_and_counted(ask, resources):
    model = choose_llm(ask(lambda call: Say("who knows")), "llm_pairs").build(resources)
    with charges.watch() as watched:
        assert order_of(model.score("which", ["p 1", "p 2"])) == [0, 1]
    assert watched.counts["incomplete"] == 2


def test_a_pairwise_model_keeps_the_rules(ask, resources):
    model = choose_llm(ask(lambda call: Say("B")), "llm_pairs", passes=1)
    check_part(model, resources)


def test_a_list_is_asked_about_once_and_always_tells_what_it_cost(ask, resources):
    server = ask(by_number)
    told = []
    for _ in range(2):
        model = choose_llm(server, "llm_pairs", method="all", prices=PRICES)
        with charges.watch() as watched:
            stage = RerankSettings(type="rerank", model=model).build(resources)
            hits = stage.apply("which", make_hits(["p 1", "p 3", "p 2"])).hits
        assert [hit.chunk.text for hit in hits] == ["p 3", "p 2", "p 1"]
        told.append(dict(watched.counts))
    assert len(server.calls) == 6
    assert told[0] == told[1]
    assert told[0]["nano_usd"] == 1000 * (told[0]["tokens"] + 4 * 10 * 6)


def test_waits_of_calls_side_by_side_are_counted(ask, resources):
    server = ask(
        lambda call: Status(429, {"retry-after": "0.2"}) if call.number < 2 else by_number(call)
    )
    model = choose_llm(server, "llm_pairs", concurrency=2).build(resources)
    with charges.watch() as watched:
        assert order_of(model.score("which", ["p 1", "p 2"])) == [1, 0]
    assert watched.counts["retries"] == 2
    assert watched.waited >= 200


def test_a_budget_stops_before_the_call_that_would_exceed_it(ask, resources):
    server = ask(by_number)
    dear = dict.fromkeys(PRICES, 1000.0)
    model = choose_llm(server, "llm_pairs", prices=dear, max_cost_usd=0.1).build(resources)
    with pytest.raises(AssayError, match=r"budget of 0\.1 USD allows no further call"):
        model.score("which", ["p 1", "p 2"])
    assert not server.calls
    kept = choose_llm(server, "llm_pairs", prices=PRICES, max_cost_usd=1.0).build(resources)
    kept.score("which", ["p 1", "p 2"])
    ledgers = [path.read_text() for path in (resources.cache.root / LEDGERS).glob("*.jsonl")]
    assert sum(text.count("settled") for text in ledgers) == 2


def test_what_is_expected_is_near_what_is_counted(ask, resources):
    texts = [f"some words about the number {i}" for i in range(6)]
    for method in METHODS:
        server = ask(by_number)
        model = choose_llm(server, "llm_pairs", method=method).build(resources)
        model.score("which", texts)
        sent = sum(len("\n".join(call.texts).encode()) for call in server.calls)
        expected = model.expect("which", texts)
        assert sent / 3 <= expected.prompt <= sent / 3 * 1.4
        assert expected.output == 3 * 30
        assert model.expect("which", texts[:1]).prompt == 0


def test_ranks_are_not_compared_with_scores():
    model = {"type": "llm_pairs"}
    with pytest.raises(ValueError, match="enough: compares scores"):
        RerankSettings.model_validate({"type": "rerank", "model": model, "enough": 0.5})
    kept = RerankSettings.model_validate({"type": "rerank", "model": model})
    assert kept.scale == "never"
    assert json.loads(kept.model_dump_json())["model"]["method"] == "sliding"
