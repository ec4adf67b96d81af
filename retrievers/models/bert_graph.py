"""A BERT as an ONNX graph of few, fused operations, written from its weights.

A batch is one text without padding, so that nothing is masked, and attention is one operation.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from assay.retrievers.models.onnx_files import CONTRIB, GraphWriter, Tensor

EPSILON = 1e-12
INPUTS = ("input_ids", "token_type_ids")


class BertGraph:
    """Writes the parts of a BERT, whose weights are float32 and go by their upstream names."""

    norm_parts = ("weight", "bias")

    def __init__(self, tensors: Mapping[str, Tensor], heads: int) -> None:
        """Take the weights by name, and the number of heads of the attention."""
        self.writer = GraphWriter()
        self.tensors = tensors
        self._heads = heads

    def look_up(self, name: str) -> str:
        """Write the vectors of the words that the input names."""
        return self.writer.add("Gather", self.writer.constant(self.tensors[name]), "input_ids")

    def read_table(self, name: str) -> Tensor:
        """Return the vectors of kinds or positions."""
        return self.tensors[name]

    def multiply(self, name: str, value: str, prepared: Sequence[str] = ()) -> str:
        """Write a linear layer of `value`, or of what `prepare` made of it."""
        weight = self.writer.constant(np.ascontiguousarray(self.tensors[f"{name}.weight"].T))
        product = self.writer.add("MatMul", value, weight)
        return self.writer.add("Add", product, self.writer.constant(self.tensors[f"{name}.bias"]))

    def prepare(self, value: str) -> Sequence[str]:
        """Write what the linear layers of one `value` share."""
        return ()

    def embed(self) -> str:
        """Write the sum of word, kind and position vectors, normalised."""
        writer = self.writer
        value = self.look_up("embeddings.word_embeddings.weight")
        kinds = writer.constant(self.read_table("embeddings.token_type_embeddings.weight"))
        value = writer.add("Add", value, writer.add("Gather", kinds, "token_type_ids"))
        places = writer.constant(self.read_table("embeddings.position_embeddings.weight"))
        zeros, ones = writer.constant(np.array([0])), writer.constant(np.array([1]))
        length = writer.add("Gather", writer.add("Shape", "input_ids"), ones)
        value = writer.add("Add", value, writer.add("Slice", places, zeros, length, zeros))
        return self.normalise("embeddings.LayerNorm", value)

    def add_layer(self, number: int, value: str, first_only: bool = False) -> str:
        """Write a layer of the encoder; with `first_only` it computes the first token alone."""
        writer, layer = self.writer, f"encoder.layer.{number}"
        prepared = self.prepare(value)
        query, key, content = (
            self.multiply(f"{layer}.attention.self.{part}", value, prepared)
            for part in ("query", "key", "value")
        )
        if first_only:
            bounds = [writer.constant(np.array([place])) for place in (0, 1, 1)]
            query, value = (writer.add("Slice", item, *bounds) for item in (query, value))
        found = writer.add(
            "MultiHeadAttention", query, key, content, domain=CONTRIB, num_heads=self._heads
        )
        found = self.multiply(f"{layer}.attention.output.dense", found)
        value = writer.add("Add", value, found)
        value = self.normalise(f"{layer}.attention.output.LayerNorm", value)
        inner = self.multiply(f"{layer}.intermediate.dense", value)
        inner = writer.add("Gelu", inner, domain=CONTRIB)
        value = writer.add("Add", value, self.multiply(f"{layer}.output.dense", inner))
        return self.normalise(f"{layer}.output.LayerNorm", value)

    def normalise(self, name: str, value: str) -> str:
        """Write a layer normalisation of `value`."""
        parts = [self.writer.constant(self.tensors[f"{name}.{part}"]) for part in self.norm_parts]
        return self.writer.add("LayerNormalization", value, *parts, axis=-1, epsilon=EPSILON)
