"""Keys, extras and addresses."""

import json
import sys

import pytest
from doubles.language_model_server import KEY, Status
from tools.context_writer import first_time

from assay.retrievers.base import AssayError
from assay.retrievers.language_models.providers import PROVIDERS
from assay.retrievers.services.ledger import CallTotals


def test_the_key_is_in_the_request_and_nowhere_else(desk, capfd, caplog):
    caplog.set_level("DEBUG")
    desk.server.react = first_time(Status(500, message=f"sorry, {KEY}"))
    outcome = desk.run()
    stopping = Status(400, message=f"no: {KEY}")
    desk.server.react = lambda call: stopping
    stopped = desk.run(model="other")
    assert KEY in json.dumps(desk.server.calls[0].headers)
    kept = [path.read_bytes() for path in desk.resources.cache.root.rglob("*") if path.is_file()]
    assert kept
    assert not any(KEY.encode() in content for content in kept)
    seen = capfd.readouterr()
    said = f"{outcome}{stopped}{seen.out}{seen.err}{caplog.text}"
    assert "***" in said
    assert KEY not in said


def test_a_key_that_is_missing_or_none(desk, monkeypatch):
    variable = f"{desk.provider.upper()}_API_KEY"
    monkeypatch.setenv(variable, "sk-one\nsk-two")
    stopped = desk.run().stopped
    assert "holds characters that no key has" in stopped
    assert "sk-" not in stopped
    for key in ("", "   "):
        monkeypatch.setenv(variable, key)
        model = PROVIDERS[desk.provider]().build(desk.resources)
        assert model.find_lack().startswith(f"{variable}: not set")
        with pytest.raises(AssayError, match=f"{variable}: not set"):
            model.open()
    if desk.provider == "openai":  # a service of one's own needs none
        assert desk.run().stopped == ""


def test_a_missing_extra_is_found_without_loading(desk, monkeypatch):
    model = PROVIDERS[desk.provider]().build(desk.resources)
    assert model.find_lack() == ""
    monkeypatch.setitem(sys.modules, desk.provider, None)
    lack = f"provider {desk.provider}: needs the extra `{desk.provider}`"
    assert model.find_lack().startswith(lack)
    with pytest.raises(AssayError, match=lack):
        model.open()
    assert f"needs the extra `{desk.provider}`: make extra NAME=" in desk.run().stopped


@pytest.mark.parametrize(
    "url", ["http://user:pass@host/v1", "https://host/v1?key=1", "ftp://host", "host", "http://["]
)
def test_an_address_holds_no_key(desk, url):
    with pytest.raises(AssayError, match="base_url: ") as caught:
        desk.model(base_url=url)
    assert "pass" not in str(caught.value).replace("password", "")


def test_the_address_may_come_from_the_environment(desk, monkeypatch):
    suffix = "" if desk.provider == "anthropic" else "/v1"
    monkeypatch.setenv(f"{desk.provider.upper()}_BASE_URL", f"{desk.server.url}{suffix}")
    assert desk.run(base_url=None).stopped == ""
    assert len(desk.server.calls) == 8


def test_no_network_is_one_line_soon(desk):
    outcome = desk.run(base_url="http://127.0.0.1:9", concurrency=1)
    assert "127.0.0.1:9: cannot be reached" in outcome.stopped
    assert "given up after 3 attempts" in outcome.stopped
    assert "\n" not in outcome.stopped
    assert outcome.ledger.run == CallTotals()
