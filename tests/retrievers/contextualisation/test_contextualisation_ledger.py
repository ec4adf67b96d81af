"""What is paid, and that a budget is never exceeded."""

import pytest
from doubles.language_model_server import OUTPUT, Drop
from hypothesis import given
from hypothesis import strategies as st
from tools.context_writer import PRICES, make_documents

from assay.retrievers.services.ledger import CallTotals
from assay.retrievers.services.prices import Prices, Usage


def test_the_ledger_holds_what_the_provider_counted(desk):
    outcome = desk.run()
    total = outcome.ledger.run.usage
    assert total.output == 8 * OUTPUT
    if desk.provider == "anthropic":
        assert total.input == sum(usage["input_tokens"] for usage in desk.server.usages)
        reads = sum(usage["cache_read_input_tokens"] for usage in desk.server.usages)
        assert total.cache_read == reads
    expected = (
        total.input + 1.25 * total.cache_write + 0.1 * total.cache_read + 5 * total.output
    ) / 1e6
    assert outcome.ledger.run.usd == pytest.approx(expected)
    assert desk.run().ledger.earlier == CallTotals()  # nothing to ask: the ledger is not opened
    assert desk.account().usd == pytest.approx(expected)


@pytest.mark.parametrize("calls", [0, 1, 5])
def test_a_budget_is_never_exceeded_and_stops_where_the_next_call_might(desk, calls):
    # Without a cache each call has one price, and one worst case.
    desk.documents, desk.chunks = make_documents(8, 1)
    plan = desk.plan(desk.model())
    prompt = plan.requests[0].prompt(shared=False)
    worst = PRICES.worst(prompt.most_tokens, 100)
    parts = [f"{prompt.document}\n{prompt.question}"]
    if desk.provider == "anthropic":
        parts = [prompt.document, prompt.question]
    tokens = sum(len(part.encode()) // 4 for part in parts)
    price = PRICES.cost(Usage(tokens, output=OUTPUT))
    budget = (calls - 1) * price + worst * 1.000001 if calls else worst * 0.999
    outcome = desk.run(max_cost_usd=budget, concurrency=4)
    assert "budget" in outcome.stopped
    assert len(desk.server.calls) == calls
    assert outcome.ledger.run.usd <= budget
    # What is spent is spent: the same budget buys nothing more in a second run.
    again = desk.run(max_cost_usd=budget)
    assert len(desk.server.calls) == calls
    assert again.ledger.earlier.usd == pytest.approx(outcome.ledger.run.usd)
    assert desk.run(max_cost_usd=100.0).stopped == ""
    assert set(desk.server.answered.values()) == {1}


def test_lost_calls_use_the_budget_up(desk):
    desk.documents, desk.chunks = make_documents(1, 1)
    desk.server.react = lambda call: Drop()
    worst = PRICES.worst(desk.plan(desk.model()).requests[0].prompt(shared=False).most_tokens, 100)
    outcome = desk.run(max_cost_usd=worst * 3.5)
    assert "budget" in outcome.stopped
    assert len(desk.server.calls) == 3


def test_prices_step_up_for_long_prompts():
    low = {"input": 1.0, "cache_write": 1.0, "cache_read": 1.0, "output": 1.0}
    high = dict.fromkeys(low, 10.0)
    prices = Prices.model_validate(low | {"step": 100, "above": high})
    assert prices.cost(Usage(100, output=10)) == pytest.approx(110e-6)
    assert prices.cost(Usage(60, cache_read=41, output=10)) == pytest.approx(1110e-6)
    assert prices.worst(101, 10) == pytest.approx(1110e-6)


@given(
    rates=st.lists(st.floats(0, 100), min_size=4, max_size=4),
    tokens=st.lists(st.integers(0, 10**6), min_size=4, max_size=4),
)
def test_no_call_costs_more_than_its_worst(rates, tokens):
    names = ("input", "cache_write", "cache_read", "output")
    prices = Prices.model_validate(dict(zip(names, rates, strict=True)))
    usage = Usage(*tokens)
    assert prices.cost(usage) <= prices.worst(usage.prompt, usage.output) * (1 + 1e-12)


def test_an_estimate_comes_near_what_is_used(desk):
    desk.documents, desk.chunks = make_documents(2, 30)
    model = desk.model()
    model.cached_from = 1
    expected = desk.job(model).count()
    assert not desk.server.calls
    used = desk.run().ledger.run
    assert expected.usd is not None
    assert expected.worst_usd is not None
    assert used.usage.prompt * 0.7 < expected.usage.prompt < used.usage.prompt * 1.5
    assert used.usd < expected.worst_usd
