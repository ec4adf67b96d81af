"""Encoders behind HTTP, for real over a socket: each provider's form, and every fault."""

import json
import logging
import sqlite3
import subprocess
import sys
import threading
from time import perf_counter

import numpy as np
import pytest
from doubles.language_model_server import KEY, Body, Drop, Hang, Status
from doubles.model_server import LONGEST, SIZE, answer, embed
from hypothesis import given, settings
from hypothesis import strategies as st
from tools.part_settings import read_settings
from tools.served_models import choose_encoder, unit

from assay.retrievers.base import AssayError, Chunk
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.legs.dense import DenseLegSettings
from assay.retrievers.models.caching import VECTORS_KIND
from assay.retrievers.models.registry import AnyEncoder
from assay.retrievers.part_conformance import check_part
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.services import cost_meter as charges
from assay.retrievers.settings import validate

PROVIDERS = ("openai", "cohere", "voyage", "jina")
TEXTS = ["the red fox", "a grey heron", "two otters", "an old badger", "the tawny owl"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_provider_keeps_order_kinds_prefixes_and_rules(provider, serve, resources):
    server = serve()
    encoder = choose_encoder(server, provider, dimensions=8, batch=2).open(resources)
    rows = encoder.encode_passages(TEXTS)
    assert np.allclose(rows, [unit(text, 8) for text in TEXTS], atol=1e-6)
    assert np.allclose(encoder.encode_query("fox"), unit("fox", 8), atol=1e-6)
    assert len(server.calls) == 4
    kinds = [find_kind(call.body) for call in server.calls]
    assert len(set(kinds)) == (1 if provider == "openai" else 2)
    server.asked.clear()
    prefixes = {"query_prefix": "query: ", "passage_prefix": "text: "}
    encoder = choose_encoder(server, provider, **prefixes).open(resources)
    encoder.encode_passages(["fox"])
    encoder.encode_query("fox")
    assert server.asked == ["text: fox", "query: fox"]
    check_part(choose_encoder(serve(), provider), resources)


def find_kind(body):
    return next((body[key] for key in ("input_type", "task") if key in body), None)


@pytest.mark.parametrize(
    "fault",
    [
        Status(429, {"retry-after": "0.05"}),
        Status(503),
        Drop(),
        Drop(half=True),
        Body(b'{"data": [{"index": 0, "emb'),
        Body(b"[]"),
        Body(b'{"data": []}'),
        answer([[1.0] * SIZE] * 2),
        answer([[1.0] * SIZE], usage={"prompt_tokens": -(10**9)}),
        answer([[1.0] * SIZE], usage={"prompt_tokens": "12"}),
        answer([[10**400]]),
        Body(json.dumps({"data": [{"index": 1, "embedding": [1.0]}], "usage": {}}).encode()),
        Hang(1.5),
    ],
    ids=str,
)
def test_a_passing_fault_is_tried_again_and_is_no_time_of_the_query(fault, serve, resources):
    server = serve(lambda call: fault if call.number == 0 else None)
    encoder = choose_encoder(server, timeout_seconds=0.5).open(resources)
    with charges.watch() as watched:
        vector = encoder.encode_query("fox")
    assert np.allclose(vector, unit("fox"), atol=1e-6)
    assert watched.counts["retries"] == 1
    assert watched.waited >= (50 if "retry-after" in str(fault) else 5)


def test_passages_beside_a_query_are_billed_and_their_waits_are_in_no_latency(serve, resources):
    failed = threading.Event()

    def react(call):
        if "b" in str(call.body["input"]) and not failed.is_set():
            failed.set()
            return Status(429, {"retry-after": "0.2"})
        return None

    server = serve(react)
    leg = DenseLegSettings(type="dense", encoder=choose_encoder(server, price_usd=1.0)).build(
        resources
    )
    leg.index(Corpus([Chunk("c", "d", 0, 1, "x y")]))
    begin = perf_counter()
    result = leg.search_near("a", ["b c", "d"], 1)
    whole = (perf_counter() - begin) * 1e3
    mean = np.mean([unit(text) for text in ("a", "b c", "d")], axis=0)
    expected = unit("x y") @ (mean / np.linalg.norm(mean))
    assert result.candidates[0][1] == pytest.approx(expected, abs=1e-6)
    assert result.counts["retries"] == 1
    assert result.waited >= 200
    assert result.milliseconds["encode"] + result.waited <= whole
    assert result.counts["tokens"] == 2 + 3 + 2


def test_the_wait_of_retries_is_not_in_the_seconds_of_passages(serve, resources):
    server = serve(lambda call: None if call.number else Status(429, {"retry-after": "0.4"}))
    encoder = choose_encoder(server).build(resources)
    begin = perf_counter()
    encoder.encode(["fox"])
    whole = perf_counter() - begin
    seconds = encoder.recall_seconds(["fox"])
    assert seconds is not None
    assert 0 < seconds <= whole - 0.4


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        (
            Status(307, {"location": "http://127.0.0.1:1/"}),
            "HTTP 307: redirects are not followed",
        ),
        (Status(400, message="content management policy"), "HTTP 400: content management policy"),
    ],
)
def test_a_redirect_and_a_filter_stop_the_run_in_one_line(given, wrong, serve, resources):
    server = serve(lambda call: given)
    with pytest.raises(AssayError, match=rf"^127\.0\.0\.1:\d+: {wrong}") as caught:
        choose_encoder(server).open(resources).encode_query("fox")
    assert "\n" not in str(caught.value)
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        (answer([[float("nan")] * SIZE]), "not finite"),
        (answer([[0.0] * SIZE]), "zeros"),
        (answer([[]]), "no vectors of numbers"),
        (answer([[1.0] * 3]), "vectors of 3 dimensions, 16 were asked for"),
    ],
)
def test_what_is_no_vector_stops_the_run_in_one_line(given, wrong, serve, resources):
    server = serve(lambda call: given)
    encoder = choose_encoder(server, dimensions=SIZE).build(resources)
    with pytest.raises(AssayError, match=wrong) as caught:
        encoder.encode(["fox"])
    assert "\n" not in str(caught.value)
    assert len(server.calls) == 1
    assert encoder.find_missing(["fox"]) == ["fox"]


def test_a_model_that_changes_its_size_is_refused(serve, resources):
    server = serve(lambda call: answer([[1.0, 2.0]]) if call.number else None)
    encoder = choose_encoder(server).build(resources)
    encoder.encode(["fox"])
    with pytest.raises(AssayError, match="of 2 dimensions, 16 were given before"):
        encoder.encode_query("fox")
    with pytest.raises(AssayError, match="2 or 16 dimensions: another model answers"):
        choose_encoder(server).build(resources).encode(["fox", "owl"])


def test_a_refused_key_stops_at_once_and_is_shown_nowhere(serve, resources, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    server = serve()
    monkeypatch.setenv("MY_KEY", secret := "sk-wrong-0123456789")
    settings = choose_encoder(server)
    encoder = settings.build(resources)
    with pytest.raises(AssayError, match="refuses MY_KEY") as caught:
        encoder.encode(["fox"])
    assert len(server.calls) == 1
    said = [str(caught.value), caplog.text, json.dumps(dict(encoder.metadata())), repr(settings)]
    assert not [text for text in said if secret in text]


def test_a_key_is_sent_to_no_other_address_unless_that_is_said(serve, resources, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server = serve()
    local = choose_encoder(server, url=f"{server.url}/local", key_variable=None)
    local.open(resources).encode_query("fox")
    assert "authorization" not in server.calls[0].headers
    monkeypatch.delenv("OPENAI_API_KEY")
    own = read_settings(AnyEncoder, {"type": "openai"})
    with pytest.raises(AssayError, match="OPENAI_API_KEY: not set"):
        own.open(resources).encode_query("fox")


def test_vectors_are_kept_by_content_and_model(serve, resources):
    server = serve()
    first = choose_encoder(server).build(resources).encode(TEXTS)
    again = choose_encoder(server, concurrency=1, query_prefix="q", price_usd=1.0).build(resources)
    assert again.encode(TEXTS).fresh == 0
    assert np.array_equal(again.encode(TEXTS).vectors, first.vectors)
    for other in ({"model": "another"}, {"dimensions": 8}, {"passage_prefix": "p"}):
        assert choose_encoder(server, **other).build(resources).encode(TEXTS).fresh == len(TEXTS)


def test_batches_that_came_before_a_failure_are_kept(serve, resources):
    broken = threading.Event()

    def react(call):
        return Status(400, message="no") if "two otters" in call.body["input"] else None

    server = serve(lambda call: None if broken.is_set() else react(call))
    encoder = choose_encoder(server, batch=1, concurrency=1).build(resources)
    with pytest.raises(AssayError, match="HTTP 400: no"):
        encoder.encode(TEXTS)
    assert server.asked == TEXTS[:2]
    broken.set()
    assert choose_encoder(server, batch=1).build(resources).encode(TEXTS).fresh == 3
    assert sorted(server.asked) == sorted(TEXTS)


def test_calls_run_side_by_side_and_no_more_than_allowed(serve, resources):
    server = serve(lambda call: Hang(0.1))
    choose_encoder(server, batch=1, concurrency=3).open(resources).encode_passages(TEXTS)
    assert server.most_at_once == 3


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_oversize_text_loses_its_end_or_is_refused(provider, serve, resources):
    server = serve()
    long = " ".join(f"word{i}" for i in range(LONGEST * 2))
    rows = choose_encoder(server, provider).open(resources).encode_passages(["fox", long, "owl"])
    assert np.allclose(rows[[0, 2]], [unit("fox"), unit("owl")], atol=1e-6)
    assert np.isfinite(rows[1]).all()
    strict = choose_encoder(server, provider, truncate=False).open(resources)
    with pytest.raises(AssayError, match="longer than the model reads"):
        strict.encode_passages(["fox", long, "owl"])


def test_a_budget_is_never_exceeded_over_runs(serve, resources):
    server = serve()
    keys = {"price_usd": 8000.0, "max_cost_usd": 2.0, "batch": 1, "concurrency": 1}
    with pytest.raises(AssayError, match=r"budget of 2\.0 USD allows no further call"):
        choose_encoder(server, **keys).build(resources).encode([f"text {i}" for i in range(1000)])
    asked = len(server.asked)
    assert 3 * asked * 0.008 <= 2.0 < (3 * asked + 207) * 0.008  # at worst a token a byte
    with pytest.raises(AssayError, match="allows no further call"):
        choose_encoder(server, **keys).open(resources).encode_query("a longer text")
    assert len(server.asked) == asked
    choose_encoder(server, **{**keys, "max_cost_usd": 5.0}).open(resources).encode_query(
        "a longer text"
    )


def test_what_is_billed_is_known_from_the_cache_too(serve, resources):
    server = serve()
    for _ in range(2):
        encoder = choose_encoder(server, price_usd=2.0).build(resources)
        encoder.encode(["the red fox", "owl"])
        assert encoder.recall_bill(["the red fox", "owl", "owl"]) == {
            "tokens": 6,
            "usd": pytest.approx(12e-6),
        }
    unknown = choose_encoder(server).build(resources).recall_bill(["the red fox", "owl"])
    assert unknown == {"tokens": 6, "usd": None}
    assert choose_encoder(server, price_usd=0.0).build(resources).recall_bill(["owl"]) is None


def test_a_query_tells_what_it_cost(serve, resources):
    server = serve()
    with charges.watch() as watched:
        choose_encoder(server, price_usd=2.0).open(resources).encode_query("the red fox")
    assert watched.counts == {"tokens": 4, "nano_usd": 8000}
    with charges.watch() as watched:
        choose_encoder(server).open(resources).encode_query("the red fox")
    assert watched.counts == {"tokens": 4, "unpriced": 1}


def test_no_key_lies_in_the_cache(serve, resources):
    choose_encoder(serve(), price_usd=1.0, max_cost_usd=1.0).build(resources).encode(TEXTS)
    files = [path for path in resources.cache.root.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".sqlite", ".jsonl"}
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    with sqlite3.connect(resources.cache.root / f"{VECTORS_KIND}.sqlite") as database:
        sizes = database.execute("SELECT length(key), length(value) FROM checked").fetchall()
    assert set(sizes) == {(64, SIZE * 4)}
    with pytest.raises(AssayError, match="its price is not known, and max_cost_usd needs it"):
        choose_encoder(serve(), max_cost_usd=1.0).open(resources)


def test_batches_change_no_vector(serve, resources):
    server = serve()

    @settings(max_examples=10, deadline=None)
    @given(
        texts=st.lists(st.text(max_size=30), min_size=1, max_size=12),
        batch=st.integers(1, 5),
        concurrency=st.integers(1, 3),
    )
    def check(texts, batch, concurrency):
        encoder = choose_encoder(server, batch=batch, concurrency=concurrency).open(resources)
        alone = [unit(text if text.strip() else ".") for text in texts]
        assert np.allclose(encoder.encode_passages(texts), alone, atol=1e-6)

    check()


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("openai/text-embedding-3-small", "{type: openai, model: text-embedding-3-small}"),
        ("text-embedding-3-large", "{type: openai, model: text-embedding-3-large}"),
        ("tei:http://localhost:80", "{type: openai, model: http://localhost:80, url: …}"),
        ("ollama/nomic-embed-text", "{type: openai, model: nomic-embed-text, url: …}"),
    ],
)
def test_a_served_model_as_a_bare_name_is_told_how_to_be_named(name, named):
    with pytest.raises(ValueError, match="is served, not run here") as caught:
        read_settings(AnyEncoder, name)
    assert named in str(caught.value)
    for own in ("google/embeddinggemma-300m", "jinaai/jina-embeddings-v3", "BAAI/bge-m3"):
        assert read_settings(AnyEncoder, own).model == own


def test_an_address_with_a_password_is_refused_and_not_repeated():
    values = {
        "legs": {
            "d": {
                "type": "dense",
                "encoder": {"type": "openai", "model": "m", "url": "http://u:pw@h"},
            }
        }
    }
    with pytest.raises(AssayError, match="without user, password") as caught:
        validate(PipelineSettings, values, "my.yaml")
    assert "pw" not in str(caught.value).replace("password", "")


def ask_openai(sdk, server):
    client = sdk.OpenAI(api_key=KEY, base_url=f"{server.url}/openai", max_retries=0)
    rows = client.embeddings.create(model="some", input=TEXTS).data
    return [row.embedding for row in sorted(rows, key=lambda row: row.index)]


def ask_cohere(sdk, server):
    reply = sdk.ClientV2(KEY, base_url=f"{server.url}/cohere").embed(
        model="some",
        texts=TEXTS,
        input_type="search_document",
        embedding_types=["float"],
        truncate="END",
    )
    assert reply.meta.billed_units.input_tokens
    return reply.embeddings.float_


def ask_voyage(sdk, server):
    client = sdk.Client(api_key=KEY, base_url=f"{server.url}/voyage")
    reply = client.embed(TEXTS, model="some", input_type="document")
    return reply.embeddings[::-1]  # this SDK drops the index


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "ask"), [("openai", ask_openai), ("cohere", ask_cohere), ("voyageai", ask_voyage)]
)
def test_the_makers_own_clients_can_talk_to_this_server(name, ask, serve):
    found = ask(pytest.importorskip(name), serve())
    assert np.allclose(found, [embed(text) for text in TEXTS], atol=1e-5)


ENCODE = """
import json, sys
from pathlib import Path
from pydantic import TypeAdapter
from assay.retrievers.models.registry import AnyEncoder
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.settings import Resources, validate
from assay.retrievers.store.cache import Cache
settings = TypeAdapter(AnyEncoder).validate_python(json.loads(sys.argv[2]))
settings.build(Resources(Cache(Path(sys.argv[1])))).encode(json.loads(sys.argv[3]))
"""


@pytest.mark.slow
def test_a_killed_process_loses_no_batch_that_came(serve, resources):
    waiting = threading.Event()

    def react(call):
        if call.number != 3:
            return None
        waiting.set()
        return Hang(2)

    server = serve(react)
    settings = choose_encoder(server, batch=1, concurrency=1)
    given = json.dumps(settings.model_dump(exclude_none=True))
    command = [sys.executable, "-c", ENCODE, str(resources.cache.root), given, json.dumps(TEXTS)]
    with subprocess.Popen(command) as process:
        assert waiting.wait(30)
        process.kill()
    assert server.asked[:3] == TEXTS[:3]
    assert settings.build(resources).encode(TEXTS).fresh == 2
