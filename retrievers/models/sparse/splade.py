"""SPLADE as an ONNX graph: a BERT with its masked-language-model head, written from safetensors.

With w the logit of a term at a token, the term's weight in a text is the maximum over the text's
tokens of log(1 + relu(w)) (Formal et al., "SPLADE v2", arXiv:2109.10086, equation 2). Both
functions are increasing, so the maximum is taken over the logits: the head, which is as wide as the
vocabulary, is computed in parts, and only their maxima are kept.
"""

from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from assay.retrievers.models.bert_graph import INPUTS, BertGraph
from assay.retrievers.models.onnx_files import CONTRIB

REVISION = 1  # raise it when the graph below comes to give other numbers
TERMS_PER_PART = 4096
_PREFIX = "bert."


def write_splade(path: Path, heads: int) -> bytes:
    """Return the model of the safetensors file `path` in the bytes of an ONNX file.

    It takes a batch of one text, without padding, and gives the weight of each term of the
    vocabulary: float32, shape (1, terms). `heads` are those of the attention.
    """
    weights = {name.removeprefix(_PREFIX): tensor for name, tensor in load_file(path).items()}
    bert = _Bert(weights, heads)
    writer = bert.writer
    value = bert.embed()
    layers = sum(name.endswith("attention.self.query.weight") for name in weights)
    for number in range(layers):
        value = bert.add_layer(number, value)
    head = "cls.predictions.transform"
    value = writer.add("Gelu", bert.multiply(f"{head}.dense", value), domain=CONTRIB)
    logits = _find_maxima(bert, bert.normalise(f"{head}.LayerNorm", value))
    ones = writer.constant(np.array([1], np.float32))
    return writer.write(
        INPUTS, writer.add("Log", writer.add("Add", writer.add("Relu", logits), ones))
    )


class _Bert(BertGraph):
    """Weights of normalisations are called as TensorFlow named them; the file keeps its names."""

    norm_parts = ("gamma", "beta")


def _find_maxima(bert: BertGraph, value: str) -> str:
    """Write each term's greatest logit over all tokens; the terms' vectors are the head's."""
    writer = bert.writer
    terms = bert.tensors["embeddings.word_embeddings.weight"]
    axis = writer.constant(np.array([1]))
    maxima = []
    for begin in range(0, len(terms), TERMS_PER_PART):
        part = writer.constant(np.ascontiguousarray(terms[begin : begin + TERMS_PER_PART].T))
        logits = writer.add("MatMul", value, part)
        maxima.append(writer.add("ReduceMax", logits, axis, keepdims=0))
    joined = writer.add("Concat", *maxima, axis=1)
    return writer.add("Add", joined, writer.constant(bert.tensors["cls.predictions.bias"]))
