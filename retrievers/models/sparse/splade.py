"""SPLADE as an ONNX graph: a BERT with its masked-language-model head, written from safetensors.

With w the logit of a term at a token, the term's weight in a text is the maximum over the text's
tokens of log(1 + relu(w)) (Formal et al., "SPLADE v2", arXiv:2109.10086, equation 2). Both
functions rise, so the maximum is taken of the logits: the head, which is as wide as the vocabulary,
is computed in parts of which only the maxima are kept.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from assay.retrievers.models.onnx_files import CONTRIB, GraphWriter, Tensor

REVISION = 1  # raise it when the graph below comes to give other numbers
EPSILON = 1e-12
INPUTS = ("input_ids", "token_type_ids")
TERMS_PER_PART = 4096


def write_splade(path: Path, heads: int) -> bytes:
    """Return the model of the safetensors file `path` in the bytes of an ONNX file.

    It takes a batch of one text, without padding, and gives the weight of each term of the
    vocabulary: float32, shape (1, terms). `heads` are those of the attention.
    """
    weights = load_file(path)
    writer = GraphWriter()
    value = _embed(writer, weights)
    layers = sum(name.endswith("attention.self.query.weight") for name in weights)
    for number in range(layers):
        value = _write_layer(writer, weights, f"bert.encoder.layer.{number}", value, heads)
    head = "cls.predictions.transform"
    value = writer.add("Gelu", _multiply(writer, weights, f"{head}.dense", value), domain=CONTRIB)
    value = _normalise(writer, weights, f"{head}.LayerNorm", value)
    logits = _find_maxima(writer, weights, value)
    ones = writer.constant(np.array([1], np.float32))
    return writer.write(
        INPUTS, writer.add("Log", writer.add("Add", writer.add("Relu", logits), ones))
    )


def _find_maxima(writer: GraphWriter, weights: Mapping[str, Tensor], value: str) -> str:
    """Write each term's greatest logit over all tokens; the terms' vectors are the head's."""
    terms = weights["bert.embeddings.word_embeddings.weight"]
    axis = writer.constant(np.array([1]))
    maxima = []
    for begin in range(0, len(terms), TERMS_PER_PART):
        part = writer.constant(np.ascontiguousarray(terms[begin : begin + TERMS_PER_PART].T))
        logits = writer.add("MatMul", value, part)
        maxima.append(writer.add("ReduceMax", logits, axis, keepdims=0))
    joined = writer.add("Concat", *maxima, axis=1)
    return writer.add("Add", joined, writer.constant(weights["cls.predictions.bias"]))


def _embed(writer: GraphWriter, weights: Mapping[str, Tensor]) -> str:
    """Write the sum of word, kind and position vectors, normalised."""
    words, kinds, places = (
        writer.constant(weights[f"bert.embeddings.{name}_embeddings.weight"])
        for name in ("word", "token_type", "position")
    )
    value = writer.add("Gather", words, "input_ids")
    value = writer.add("Add", value, writer.add("Gather", kinds, "token_type_ids"))
    zeros, ones = writer.constant(np.array([0])), writer.constant(np.array([1]))
    length = writer.add("Gather", writer.add("Shape", "input_ids"), ones)
    value = writer.add("Add", value, writer.add("Slice", places, zeros, length, zeros))
    return _normalise(writer, weights, "bert.embeddings.LayerNorm", value)


def _write_layer(
    writer: GraphWriter, weights: Mapping[str, Tensor], layer: str, value: str, heads: int
) -> str:
    parts = (
        _multiply(writer, weights, f"{layer}.attention.self.{part}", value)
        for part in ("query", "key", "value")
    )
    found = writer.add("MultiHeadAttention", *parts, domain=CONTRIB, num_heads=heads)
    found = _multiply(writer, weights, f"{layer}.attention.output.dense", found)
    value = writer.add("Add", value, found)
    value = _normalise(writer, weights, f"{layer}.attention.output.LayerNorm", value)
    inner = _multiply(writer, weights, f"{layer}.intermediate.dense", value)
    inner = _multiply(
        writer, weights, f"{layer}.output.dense", writer.add("Gelu", inner, domain=CONTRIB)
    )
    return _normalise(writer, weights, f"{layer}.output.LayerNorm", writer.add("Add", value, inner))


def _multiply(writer: GraphWriter, weights: Mapping[str, Tensor], name: str, value: str) -> str:
    """Write a linear layer of `value`."""
    weight = writer.constant(np.ascontiguousarray(weights[f"{name}.weight"].T))
    product = writer.add("MatMul", value, weight)
    return writer.add("Add", product, writer.constant(weights[f"{name}.bias"]))


def _normalise(writer: GraphWriter, weights: Mapping[str, Tensor], name: str, value: str) -> str:
    # As TensorFlow named them; the file keeps its names.
    weight, bias = (writer.constant(weights[f"{name}.{part}"]) for part in ("gamma", "beta"))
    return writer.add("LayerNormalization", value, weight, bias, axis=-1, epsilon=EPSILON)
