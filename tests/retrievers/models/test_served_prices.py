"""Prices of served models, and the ledger that several processes share."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tools.part_settings import read_settings
from tools.schedule import scheduled

from assay.retrievers.base import AssayError
from assay.retrievers.models.registry import AnyCrossEncoder, AnyEncoder
from assay.retrievers.models.served.prices import find_listed
from assay.retrievers.services import ledger
from assay.retrievers.services.ledger import CostLedger
from assay.retrievers.services.prices import Prices, Usage

ONE = Prices(input=1e6, cache_write=1e6, cache_read=1e6, output=1e6)  # a dollar a token
OWN = """
openai:
  as_of: 2027-01
  source: my contract
  models: {text-embedding-3-small: {tokens: 0.01}, mine: {tokens: 0.5}}
"""


def choose(type_, model, kind=AnyEncoder, **keys):
    values = {"type": type_, "model": model, **keys}
    return read_settings(kind, values)


def test_the_list_prices_tokens_and_searches():
    small = choose("openai", "text-embedding-3-small")
    assert small.prices
    assert small.prices.cost(Usage(1_000_000)) == pytest.approx(0.02)
    assert "2026-05" in small.price_facts()["price_source"]
    fast = choose("cohere", "rerank-v4.0-fast", AnyCrossEncoder)
    assert fast.prices
    assert fast.prices.cost(Usage(1000)) == pytest.approx(2.0)
    assert fast.price_facts()["usd_per_thousand_searches"] == pytest.approx(2.0)
    assert choose("cohere", "embed-v4.0", AnyCrossEncoder).prices is None  # a price by token


def test_another_address_has_no_listed_price_and_a_given_one_comes_first():
    url = "http://localhost:1/v1"
    assert choose("openai", "text-embedding-3-small", url=url).prices is None
    assert choose("openai", "unheard-of").prices is None
    own = choose("openai", "text-embedding-3-small", url="https://api.openai.com/v1/")
    assert (own.url, own.prices is None) == (None, False)
    given = choose("openai", "text-embedding-3-small", price_usd=7.0)
    assert given.prices
    assert given.prices.input == 7.0
    assert "price_source" not in given.price_facts()


def test_a_list_of_ones_own_is_laid_over(tmp_path, monkeypatch):
    path = tmp_path / "prices.yaml"
    path.write_text(OWN)
    monkeypatch.setenv("ASSAY_PRICES", str(path))
    monkeypatch.setenv("ASSAY_TRUST", "1")
    found = [find_listed("openai", name) for name in ("text-embedding-3-small", "mine")]
    assert [item and item.price for item in found] == [0.01, 0.5]
    large = find_listed("openai", "text-embedding-3-large")
    assert large
    assert large.price == 0.13
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("openai: {as_of: x, source: y, models: {m: {token: 1}}}")
    monkeypatch.setenv("ASSAY_PRICES", str(wrong))
    with pytest.raises(AssayError, match=r"wrong.yaml: .*openai.*token: unknown key"):
        find_listed("openai", "m")
    monkeypatch.setenv("ASSAY_PRICES", str(tmp_path / "none.yaml"))
    with pytest.raises(AssayError, match=r"ASSAY_PRICES: .*there is no such file"):
        find_listed("openai", "m")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ledgers")


@settings(max_examples=30, deadline=None)
@given(
    calls=st.lists(
        st.tuples(st.integers(1, 9), st.sampled_from(["settle", "release", "lose", "kill"])),
        max_size=12,
    ),
    budget=st.integers(0, 30),
)
def test_what_is_committed_never_exceeds_the_budget(calls, budget, folder):
    path = folder / f"{len(list(folder.iterdir()))}.jsonl"
    one, other = (CostLedger(path, ONE, float(budget)) for _ in range(2))
    committed = 0
    for number, (tokens, end) in enumerate(calls):
        ledger = (one, other)[number % 2]
        call = ledger.reserve(tokens, 0)
        assert (call is not None) == (committed + tokens <= budget)
        if call is None:
            continue
        used = {"settle": tokens // 2, "release": 0}.get(end, tokens)
        committed += used
        if end == "settle":
            assert ledger.settle(call, Usage(used))
        elif end != "kill":
            getattr(ledger, end)(call)


@pytest.mark.parametrize("without_locks", [False, True])
def test_a_budget_holds_in_any_order(tmp_path, *, without_locks):
    exceeded = 0
    with scheduled(ledger, without_locks=without_locks) as schedule:
        for seed in range(60):
            path = tmp_path / f"{seed}.jsonl"
            ledgers = [CostLedger(path, ONE, 4.0) for _ in range(3)]
            schedule.run([partial(spend, one) for one in ledgers], seed)
            exceeded += len(path.read_text().splitlines()) != 4
    assert exceeded > 5 if without_locks else exceeded == 0


def spend(own):
    for _ in range(2):
        own.reserve(1, 0)


def test_an_account_holds_over_ends_tears_and_another_process(tmp_path):
    path = tmp_path / "new" / "job" / "ledger.jsonl"
    with CostLedger(path, ONE, 20.0) as own:
        with (
            pytest.raises(AssayError, match="another process is asking"),
            CostLedger(path, ONE, 20.0),
        ):
            pass
        calls = [own.reserve(tokens, 0) for tokens in (1, 2, 4, 8)]
        assert all(calls)
        assert own.reserve(8, 0) is None
        own.release(str(calls[0]))
        own.settle(str(calls[1]), Usage(1))
        own.lose(str(calls[2]))
        assert own.run.lost_usd == 4.0
    with path.open("a") as file:
        file.write('{"call": "x", "most_pro')
    with CostLedger(path, ONE, 20.0) as later:
        assert (later.earlier.usd, later.earlier.lost, later.earlier.lost_usd) == (1.0, 2, 12.0)
        assert later.reserve(7, 0)
        assert later.reserve(1, 0) is None
    assert CostLedger(path, ONE).add_up().committed_usd == 20.0
    (tmp_path / "file").touch()
    shared = CostLedger(tmp_path / "file" / "ledger.jsonl", ONE, 1.0)
    with pytest.raises(AssayError, match="cannot be written"):
        shared.reserve(1, 0)
