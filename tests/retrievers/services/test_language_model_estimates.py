"""What calls would cost, found out without making any."""

from dataclasses import replace

import pytest
from tools.extras import skip_without
from tools.llm_fixtures import PRICES, ask, end, say

from assay.retrievers.language_models.base import Prompt
from assay.retrievers.language_models.estimates import DryRun, Estimate
from assay.retrievers.services.prices import Usage

skip_without("openai", "openai")


def test_a_dry_run_asks_nothing_and_counts_what_is_not_known(room):
    here = room(say)
    with here.client() as client:
        client.ask(ask("known"))
    made = DryRun(here.model, PRICES, here.answers)
    assert made.ask(ask("known")) == end("to known")
    for _ in range(2):
        assert made.ask(replace(ask("x" * 281), example="an example")) == end("an example")
    assert (made.known, made.to_ask) == (1, 1)
    assert made.usage.input == 100  # 300 bytes, at 3 a token
    assert made.usage.output == 3
    assert made.usd == pytest.approx((100 + 5 * 3) / 1e6)
    assert made.worst_usd == pytest.approx((1.25 * 500 + 5 * 50) / 1e6)
    assert len(here.server.calls) == 1


def test_an_estimate_knows_the_providers_cache(room):
    here = room(say)
    here.model.cached_from = 10
    made = Estimate(here.model, None)
    for shared in (False, True, True):
        made.add(Prompt("x" * 30, "y" * 29, shared), 1000)
    made.add(Prompt("x" * 27, "y" * 29, shared=True), 1)
    assert made.usage == Usage(
        input=20 + 10 + 10 + 19, cache_write=10, cache_read=10, output=3 * 50 + 1
    )
    assert (made.usd, made.worst_usd) == (None, None)
