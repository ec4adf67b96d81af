"""BERT in int8, written anew as a graph of few, fused operations.

The weights stay those of the file, to the bit. What differs from the graph as exported: attention
is one operation, nothing is masked (a batch is one text, without padding), and where only the first
token's vector is wanted, the last layer computes that one alone.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from assay.retrievers.models.onnx_files import CONTRIB, Graph, GraphWriter, Tensor, read_graph

REVISION = 1  # raise it when the graph below comes to give other numbers
EPSILON = 1e-12
INPUTS = ("input_ids", "token_type_ids")
_LINEAR = re.compile(r"/(?:bert/)?(.+)/(?:MatMul|Gemm)\w*")
_PREFIX = "bert."


class _Bert:
    """The weights by their upstream names, without the prefix that some exports have."""

    def __init__(self, graph: Graph) -> None:
        self.tensors = {
            name.removeprefix(_PREFIX): tensor for name, tensor in graph.tensors.items()
        }
        self.matrices: dict[str, str] = {}
        for node in graph.nodes:
            if node.operator == "MatMulInteger" and (found := _LINEAR.fullmatch(node.name)):
                layer = found[1].replace("/", ".")
                self.matrices[layer] = node.inputs[1].removeprefix(_PREFIX)
        self.layers = sum(name.endswith("attention.self.query") for name in self.matrices)

    def quantised(self, name: str) -> tuple[Tensor, Tensor, Tensor]:
        """Return a weight with its scale and zero point, of the whole or of each column."""
        kept = self.tensors
        return kept[f"{name}_quantized"], kept[f"{name}_scale"], kept[f"{name}_zero_point"]


def fuse(path: Path, heads: int, first_only: bool) -> bytes:
    """Return the model of the file `path` as a fused one, in the bytes of an ONNX file.

    Its output is that of the file for a batch of one: a cross-encoder's logit, or an encoder's
    token vectors; with `first_only` the first token's alone. `heads` are those of the attention.
    """
    bert = _Bert(read_graph(path))
    writer = GraphWriter()
    value = _embed(writer, bert)
    for number in range(bert.layers):
        short = first_only and number == bert.layers - 1
        value = _write_layer(writer, bert, f"encoder.layer.{number}", value, heads, short)
    if "classifier" in bert.matrices:
        first = writer.add("Squeeze", value, writer.constant(np.array([1])))
        pooled = writer.add("Tanh", _multiply(writer, bert, "pooler.dense", first))
        value = _multiply(writer, bert, "classifier", pooled)
    return writer.write(INPUTS, value)


def _embed(writer: GraphWriter, bert: _Bert) -> str:
    """Write the sum of word, kind and position vectors, normalised."""
    name = "embeddings.word_embeddings.weight"
    words, scale, zero = (writer.constant(tensor) for tensor in bert.quantised(name))
    rows = writer.add("Gather", words, "input_ids")
    value = writer.add("DequantizeLinear", rows, scale, zero)
    kinds = writer.constant(_restore(bert, "embeddings.token_type_embeddings.weight"))
    value = writer.add("Add", value, writer.add("Gather", kinds, "token_type_ids"))
    places = writer.constant(_restore(bert, "embeddings.position_embeddings.weight"))
    zeros, ones = writer.constant(np.array([0])), writer.constant(np.array([1]))
    length = writer.add("Gather", writer.add("Shape", "input_ids"), ones)
    value = writer.add("Add", value, writer.add("Slice", places, zeros, length, zeros))
    return _normalise(writer, bert.tensors, "embeddings.LayerNorm", value)


def _restore(bert: _Bert, name: str) -> Tensor:
    values, scale, zero = bert.quantised(name)
    restored: Tensor = (values.astype(np.float32) - zero.astype(np.float32)) * scale
    return restored


def _write_layer(
    writer: GraphWriter, bert: _Bert, layer: str, value: str, heads: int, first_only: bool
) -> str:
    quantised = writer.add_many("DynamicQuantizeLinear", 3, value)
    query, key, content = (
        _multiply(writer, bert, f"{layer}.attention.self.{part}", value, quantised)
        for part in ("query", "key", "value")
    )
    if first_only:
        bounds = [writer.constant(np.array([number])) for number in (0, 1, 1)]
        query, value = (writer.add("Slice", item, *bounds) for item in (query, value))
    found = writer.add("MultiHeadAttention", query, key, content, domain=CONTRIB, num_heads=heads)
    found = _multiply(writer, bert, f"{layer}.attention.output.dense", found)
    value = writer.add("Add", value, found)
    value = _normalise(writer, bert.tensors, f"{layer}.attention.output.LayerNorm", value)
    inner = _multiply(writer, bert, f"{layer}.intermediate.dense", value)
    inner = writer.add("Gelu", inner, domain=CONTRIB)
    value = writer.add("Add", value, _multiply(writer, bert, f"{layer}.output.dense", inner))
    return _normalise(writer, bert.tensors, f"{layer}.output.LayerNorm", value)


def _multiply(
    writer: GraphWriter, bert: _Bert, name: str, value: str, quantised: list[str] | None = None
) -> str:
    """Write a linear layer of `value`, which is quantised by its own range."""
    weight, scale, zero = map(writer.constant, bert.quantised(_stem(bert.matrices[name])))
    bias = writer.constant(bert.tensors[f"{name}.bias"])
    rows, step, middle = quantised or writer.add_many("DynamicQuantizeLinear", 3, value)
    return writer.add(
        "MatMulIntegerToFloat", rows, weight, step, scale, middle, zero, bias, domain=CONTRIB
    )


def _stem(name: str) -> str:
    return name.removesuffix("_quantized")


def _normalise(writer: GraphWriter, tensors: Mapping[str, Tensor], name: str, value: str) -> str:
    weight, bias = (writer.constant(tensors[f"{name}.{part}"]) for part in ("weight", "bias"))
    return writer.add("LayerNormalization", value, weight, bias, axis=-1, epsilon=EPSILON)
