"""The sparse leg: its index against plain dot products, its model against numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors.numpy import load_file

from assay.retrievers.base import AssayError, Chunk
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.legs.sparse import InvertedIndex, SparseLegSettings
from assay.retrievers.legs.truncation import find_window, list_encoders
from assay.retrievers.model_files.pins import find_pinned
from assay.retrievers.model_files.wheels import fetch
from assay.retrievers.models.base import SparseVector
from assay.retrievers.models.sparse.sparse import SparseEncoderSettings

TEXTS = [
    "Cats are kept as pets.",
    "The central bank raised its interest rate.",
    "Vitamin D helps the body absorb calcium and keeps bones dense. " * 60,  # over 512 tokens
]

WEIGHTS = st.floats(0.0009765625, 8, width=32)
ROWS = arrays(np.float32, (6, 9), elements=st.just(np.float32(0)) | WEIGHTS)


@pytest.fixture
def folder(model_workshop):
    pin = find_pinned("splade-tiny", "sparse-encoder")
    assert pin is not None
    return fetch(pin, model_workshop).path


@given(rows=ROWS)
def test_the_index_gives_the_plain_dot_products(rows):
    *passages, query = [SparseVector.of(row) for row in rows]
    wanted = rows[:-1].astype(np.float64) @ rows[-1].astype(np.float64)
    assert InvertedIndex(passages).score(query) == pytest.approx(wanted, rel=1e-12)
    # Terms that no passage has, at the end of the vocabulary, are known to none.
    assert InvertedIndex(passages[:1]).score(query) == pytest.approx(wanted[:1], rel=1e-12)


@given(row=ROWS.map(lambda rows: rows[0]))
def test_a_vector_comes_back_from_its_bytes(row):
    vector = SparseVector.of(row)
    back = SparseVector.from_bytes(vector.to_bytes())
    assert back.terms.tolist() == vector.terms.tolist() == np.flatnonzero(row).tolist()
    assert back.weights.tolist() == vector.weights.tolist() == row[row > 0].tolist()


def test_the_model_weighs_terms_as_its_formula_says(folder, model_workshop):
    encoder = SparseEncoderSettings().build(model_workshop)
    for text, vector in zip(TEXTS, encoder.encode(TEXTS).vectors, strict=True):
        wanted = weigh(text, folder)
        found = np.zeros_like(wanted)
        found[vector.terms] = vector.weights
        assert np.abs(found - wanted).max() < 1e-4
        assert 5 < len(vector.terms) < 500
    query = encoder.encode_query(TEXTS[0])
    assert query.weights.tolist() == encoder.encode(TEXTS).vectors[0].weights.tolist()


def weigh(text, folder):
    """Return log(1 + relu(logit)) of every term, the maximum over the tokens, by numpy alone."""
    from scipy.special import erf, softmax
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(512)
    w = {
        name.removeprefix("bert."): value.astype(np.float64)
        for name, value in load_file(folder / "model.safetensors").items()
    }

    def linear(name, x):
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def normalise(name, x):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * w[f"{name}.gamma"] + w[f"{name}.beta"]

    def gelu(x):
        return x * (1 + erf(x / np.sqrt(2))) / 2

    ids = tokenizer.encode(text).ids
    words, places, kinds = (
        w[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
    )
    x = normalise("embeddings.LayerNorm", words[ids] + places[: len(ids)] + kinds[0])
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        heads = [
            linear(f"{layer}.attention.self.{part}", x).reshape(-1, 2, 64).swapaxes(0, 1)
            for part in ("query", "key", "value")
        ]
        shares = softmax(heads[0] @ heads[1].swapaxes(1, 2) / 8, axis=-1)
        seen = (shares @ heads[2]).swapaxes(0, 1).reshape(-1, 128)
        seen = linear(f"{layer}.attention.output.dense", seen)
        x = normalise(f"{layer}.attention.output.LayerNorm", x + seen)
        inner = linear(f"{layer}.output.dense", gelu(linear(f"{layer}.intermediate.dense", x)))
        x = normalise(f"{layer}.output.LayerNorm", x + inner)
    head = "cls.predictions.transform"
    x = normalise(f"{head}.LayerNorm", gelu(linear(f"{head}.dense", x)))
    logits = x @ words.T + w["cls.predictions.bias"]
    return np.log1p(np.maximum(logits, 0)).max(axis=0)


def make_corpus(texts):
    chunks = [Chunk(f"c{i}", "d", 0, len(text), text) for i, text in enumerate(texts)]
    return Corpus(chunks[::-1])


def test_the_leg_finds_what_is_meant_and_keeps_vectors(model_workshop):
    leg = SparseLegSettings(type="sparse").build(model_workshop)
    report = leg.index(make_corpus(TEXTS))
    assert (report.chunks, report.cached) == (3, ())
    result = leg.search("feline companion animals", 3)
    assert result.candidates[0][0] == 2  # no word of it stands in the chunk about cats
    assert result.counts["query_terms"] > 3
    assert list(result.milliseconds) == ["encode", "search"]
    again = SparseLegSettings(type="sparse").build(model_workshop)
    cached = again.index(make_corpus(TEXTS))
    assert (cached.cached, cached.seconds) == (("embed",), report.seconds)
    assert again.search("feline companion animals", 3).candidates == result.candidates
    assert again.index(make_corpus([*TEXTS, "one more"])).cached == ()
    facts = leg.metadata()
    assert facts["model"] == "splade-tiny"
    assert find_window(list_encoders([SparseLegSettings(type="sparse")], model_workshop)) == 512
    assert "origin not stated" in facts["build"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"model": "spade-tiny"},
            "model spade-tiny: unknown; allowed: splade-tiny, .*did you mean",
        ),
        ({"model": ".", "backend": "onnx"}, "model .: the backend onnx takes splade-tiny; allowed"),
        ({"max_tokens": 513}, "max_tokens: 513; the model splade-tiny reads at most 512"),
        ({"model": "bge-small-en-v1.5"}, "model bge-small-en-v1.5: unknown; allowed: splade-tiny"),
    ],
)
def test_a_model_that_is_none_is_one_line(values, message, model_workshop):
    with pytest.raises(AssayError, match=message):
        SparseEncoderSettings.model_validate(values).build(model_workshop)


@pytest.mark.st
def test_sentence_transformers_gives_the_same_weights(folder, model_workshop):
    onnx = SparseEncoderSettings().build(model_workshop)
    settings = (
        SparseEncoderSettings(backend="st"),
        SparseEncoderSettings(model=str(folder)),
    )
    for encoder in (item.build(model_workshop) for item in settings):
        assert encoder.identity != onnx.identity
        assert encoder.metadata()["backend"] == "st"
        for text in TEXTS:
            found, wanted = encoder.encode_query(text), onnx.encode_query(text)
            assert found.terms.tolist() == wanted.terms.tolist()
            assert np.abs(found.weights - wanted.weights).max() < 1e-4
        several = zip(encoder.encode(TEXTS).vectors, onnx.encode(TEXTS).vectors, strict=True)
        assert all(found.terms.tolist() == wanted.terms.tolist() for found, wanted in several)
