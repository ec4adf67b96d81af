"""Encoders behind HTTP that read a document's chunks together, or give int8 and bits."""

import json
import threading
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from doubles.language_model_server import KEY, Body, Call, Reaction, Status
from doubles.model_server import SIZE, TOGETHER, ModelServer, embed_together, shrink
from pydantic import ValidationError
from tools.served_models import choose_encoder, unit

from assay.retrievers.base import AssayError, Chunk
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.legs.dense import DenseLegSettings
from assay.retrievers.legs.native import EngineDenseSettings
from assay.retrievers.models.base import Passages
from assay.retrievers.part_conformance import check_part

TEXTS = ["the red fox", "a grey heron", "two otters", "an old badger", "the tawny owl"]
TOGETHER_KEYS = [("voyage", {"contextualised": True}), ("jina", {"late_chunking": True})]
OUTPUTS = [
    ("cohere", "int8"),
    ("cohere", "binary"),
    ("voyage", "int8"),
    ("voyage", "binary"),
    ("jina", "binary"),
]
together = pytest.mark.parametrize(("provider", "keys"), TOGETHER_KEYS)


def bring_to_unit(rows):
    return np.array(rows) / np.linalg.norm(rows, axis=1, keepdims=True)


def make_chunks(texts, doc_id="d"):
    """Return chunks whose ids do not tell the order in which they stand in the document."""
    starts = range(0, 100 * len(texts), 100)
    ids = (f"{doc_id}-{i % 3}-{i}" for i in range(len(texts)))
    made = [Chunk(*i) for i in zip(ids, [doc_id] * len(texts), starts, starts, texts, strict=True)]
    return sorted(made, key=lambda chunk: chunk.id, reverse=True)


@together
def test_encoders_of_documents_keep_the_rules(provider, keys, serve, resources):
    check_part(choose_encoder(serve(), provider, **keys), resources)


@together
def test_chunks_of_a_document_go_together_in_its_order(provider, keys, serve, resources):
    server = serve()
    corpus = Corpus([*make_chunks(TEXTS), *make_chunks(["one more", "the red fox"], "e")])
    rows = corpus.encode(choose_encoder(server, provider, **keys).build(resources)).vectors
    wanted = {f"d-{i % 3}-{i}": row for i, row in enumerate(bring_to_unit(embed_together(TEXTS)))}
    for place, chunk in enumerate(corpus.chunks[: len(TEXTS)]):
        assert np.allclose(rows[place], wanted[chunk.id], atol=1e-6)
    assert sorted(server.asked) == sorted([*TEXTS, "one more", "the red fox"])
    assert len(server.calls) == 2


@together
def test_a_query_is_read_alone(provider, keys, serve, resources):
    server = serve()
    encoder = choose_encoder(server, provider, **keys).build(resources)
    encoder.encode(Passages(TEXTS, [range(len(TEXTS))]))
    assert np.allclose(encoder.encode_query("fox"), unit("fox"), atol=1e-6)
    asked = server.calls[-1].body
    assert asked.get("inputs") == [["fox"]] or "late_chunking" not in asked


def encode(encoder, *documents):
    ends = np.cumsum([0, *map(len, documents)]).tolist()
    spans = [range(begin, end) for begin, end in pairwise(ends)]
    return encoder.encode(Passages((text for each in documents for text in each), spans)).fresh


@together
def test_vectors_are_kept_by_the_whole_document(provider, keys, serve, resources):
    server = serve()
    encoder = choose_encoder(server, provider, price_usd=1.0, **keys).build(resources)
    assert encode(encoder, TEXTS[:2], TEXTS[2:]) == 5
    assert encode(encoder, TEXTS[2:], TEXTS[:2]) == 0
    assert encode(encoder, TEXTS[:3], TEXTS[:2], TEXTS[:3]) == 3
    found = Passages(TEXTS[:2], [range(2)])
    assert encoder.recall_bill(found) == {"tokens": 8, "usd": pytest.approx(8e-6)}
    assert encoder.recall_bill(TEXTS[:2]) is None
    assert encoder.find_missing(TEXTS[:2]) == TEXTS[:2]
    assert encoder.find_missing(found) == []
    plain = dict.fromkeys(keys, False)
    other = choose_encoder(server, provider, **plain).build(resources)
    assert other.find_missing(found) == TEXTS[:2]


@together
def test_a_document_longer_than_is_read_goes_in_parts(provider, keys, serve, resources):
    server = serve()
    texts = [f"{name} " * (TOGETHER // 3) for name in ("fox", "owl", "otter", "heron")]
    encoder = choose_encoder(server, provider, **keys).build(resources)
    rows = encoder.encode(Passages(texts, [range(4)])).vectors
    halves = [*embed_together(texts[:2]), *embed_together(texts[2:])]
    assert np.allclose(rows, bring_to_unit(halves), atol=1e-6)
    assert len(server.calls) == 3
    assert encode(encoder, ["word " * (TOGETHER + 1)]) == 1
    strict = choose_encoder(server, provider, truncate=False, **keys).build(resources)
    with pytest.raises(AssayError, match="longer than the model reads"):
        encode(strict, ["word " * (TOGETHER + 1)])


def test_documents_that_came_before_a_failure_are_kept(serve, resources):
    broken = threading.Event()

    def react(call: Call) -> Reaction:
        spoilt = not broken.is_set() and "two otters" in str(call.body)
        return Status(400, message="no") if spoilt else None

    server = serve(react)
    settings = choose_encoder(server, "voyage", contextualised=True, concurrency=1)
    with pytest.raises(AssayError, match="HTTP 400: no"):
        encode(settings.build(resources), TEXTS[:2], TEXTS[2:])
    assert server.asked == TEXTS[:2]
    broken.set()
    assert encode(settings.build(resources), TEXTS[:2], TEXTS[2:]) == 3


@pytest.mark.parametrize(
    "data",
    [
        [],
        [{"index": 0, "data": []}],
        [{"index": 0, "data": [{"index": 1, "embedding": [1.0] * SIZE}]}],
        [{"index": i, "data": [{"index": 0, "embedding": [1.0] * SIZE}]} for i in range(2)],
        [{"index": 0, "embedding": [1.0] * SIZE}],
    ],
    ids=["no document", "no chunk", "another chunk", "two documents", "no chunks of documents"],
)
def test_a_half_answer_is_asked_for_again(data, serve, resources):
    fault = Body(json.dumps({"data": data, "usage": {"total_tokens": 1}}).encode())
    server = serve(lambda call: None if call.number else fault)
    encoder = choose_encoder(server, "voyage", contextualised=True).open(resources)
    assert np.allclose(encoder.encode_passages(["fox"]), bring_to_unit(embed_together(["fox"])))
    assert len(server.calls) == 2


def test_the_legs_find_what_a_document_says_together(serve, resources):
    server = serve()
    encoder = choose_encoder(server, "jina", late_chunking=True, price_usd=1.0)
    chunks = [*make_chunks(TEXTS), *make_chunks(["the red fox", "of another document"], "e")]
    for settings in (
        DenseLegSettings(type="dense", encoder=encoder),
        EngineDenseSettings(type="engine_dense", encoder=encoder),
    ):
        leg = settings.build(resources)
        report = leg.index(Corpus(chunks))
        assert report.facts["billed"]["tokens"] > 0
        best = dict(leg.search("the red fox", 7).candidates)
        scores = [best[i] for i, it in enumerate(Corpus(chunks).chunks) if "fox" in it.text]
        assert scores[0] != pytest.approx(scores[1], abs=1e-4)
        leg.close()
    asked = len(server.asked)
    moved = [*make_chunks(TEXTS[:4]), *make_chunks(["the red fox", "of another document"], "e")]
    DenseLegSettings(type="dense", encoder=encoder).build(resources).index(Corpus(moved))
    assert [
        len(call.body["input"]) for call in server.calls if call.body["input"] != ["the red fox"]
    ][-1] == 4
    assert len(server.asked) == asked + 4


@pytest.mark.parametrize(
    ("keys", "wrong"),
    [
        ({"type": "voyage", "contextualised": True, "batch": 8, "url": "http://h"}, "batch: 8"),
        ({"type": "voyage", "contextualised": True}, "with model voyage-4 allowed: false"),
        ({"type": "voyage", "model": "voyage-context-3"}, "voyage-context-3 allowed: true"),
        ({"type": "jina", "output": "int8"}, "'float' or 'binary'"),
        ({"type": "cohere", "output": "binary", "dimensions": 100}, "a multiple of 8"),
        ({"type": "openai", "output": "int8"}, "Extra inputs"),
    ],
)
def test_what_cannot_be_is_refused_before_any_call(keys, wrong):
    with pytest.raises(ValidationError, match=wrong):
        DenseLegSettings(type="dense", encoder=keys)  # type: ignore[arg-type]


def test_windows_are_refused_where_chunks_are_read_together():
    encoder: Any = {"type": "jina", "late_chunking": True}
    with pytest.raises(ValidationError, match="windows: mean"):
        DenseLegSettings(type="dense", encoder=encoder, windows="mean")


def test_the_makers_own_client_can_talk_of_documents(serve):
    sdk = pytest.importorskip("voyageai")
    client = sdk.Client(api_key=KEY, base_url=f"{serve().url}/voyage")
    reply = client.contextualized_embed([TEXTS], model="some", input_type="document")
    rows = reply.results[0].embeddings[::-1]  # this SDK drops the index
    assert np.allclose(rows, embed_together(TEXTS), atol=1e-5)


@pytest.mark.parametrize(("provider", "output"), OUTPUTS)
def test_smaller_numbers_are_read_as_the_service_means_them(provider, output, serve, resources):
    server = serve()
    settings = choose_encoder(server, provider, output=output, dimensions=SIZE, batch=2)
    rows = settings.open(resources).encode_passages(TEXTS)
    whole = np.array([unit(text) for text in TEXTS])
    if output == "binary":
        assert np.allclose(rows, np.where(whole > 0, 1, -1) / np.sqrt(SIZE), atol=1e-6)
    else:
        assert (rows * whole).sum(axis=1) == pytest.approx(1, abs=1e-3)
        assert not np.allclose(rows, whole, atol=1e-6)
    check_part(settings, resources)
    assert (
        choose_encoder(server, provider).open(resources).identity
        != settings.open(resources).identity
    )


@pytest.mark.parametrize(
    ("form", "vectors", "wrong"),
    [
        ("int8", [[0.5] * SIZE], "output: int8 was asked for.*between -128 and 127"),
        ("int8", [[200] * SIZE], "between -128 and 127"),
        ("int8", [[1] * 3], "vectors of 3 dimensions, 16 were asked for"),
        ("int8", [[0] * SIZE], "zeros"),
        ("binary", [[-1, 3]], "between 0 and 255"),
        ("binary", [[0.5] * SIZE], "between 0 and 255"),
        ("binary", [[1] * SIZE], "vectors of 128 dimensions, 16 were asked for"),
        ("binary", [[]], "no vectors of numbers"),
    ],
)
def test_numbers_of_another_form_stop_the_run_in_one_line(form, vectors, wrong, serve, resources):
    key = {"int8": "int8", "binary": "ubinary"}[form]
    server: ModelServer = serve(
        lambda call: Body(json.dumps({"embeddings": {key: vectors}}).encode())
    )
    encoder = choose_encoder(server, "cohere", output=form, dimensions=SIZE).build(resources)
    with pytest.raises(AssayError, match=wrong) as caught:
        encoder.encode(["fox"])
    assert "\n" not in str(caught.value)
    assert len(server.calls) == 1
    assert encoder.find_missing(["fox"]) == ["fox"]


def test_numbers_of_a_type_not_asked_for_are_asked_for_again(serve, resources):
    floats = Body(json.dumps({"embeddings": {"float": [[0.5] * SIZE]}}).encode())
    server = serve(lambda call: None if call.number else floats)
    row = choose_encoder(server, "cohere", output="int8").open(resources).encode_query("fox")
    assert np.allclose(row, bring_to_unit([shrink([*unit("fox") * 30], "int8")])[0], atol=0.2)
    assert len(server.calls) == 2
