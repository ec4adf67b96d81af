"""ONNX files read and written: the few fields of the format that rewriting a model takes.

The format is Protocol Buffers; field numbers and types are those of `onnx.proto`.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Tensor = NDArray[Any]

TYPES: Mapping[int, type[np.generic]] = {1: np.float32, 2: np.uint8, 3: np.int8, 7: np.int64}
CODES = {np.dtype(kind): code for code, kind in TYPES.items()}
CONTRIB = "com.microsoft"  # ONNX Runtime's own operators
VERSIONS = {"": 18, CONTRIB: 1}
IR_VERSION = 9


@dataclass(frozen=True, slots=True)
class Node:
    """An operation of a graph, by the name its exporter gave it."""

    name: str
    operator: str
    inputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """The nodes of a model, and its weights by name."""

    nodes: tuple[Node, ...]
    tensors: Mapping[str, Tensor]


def read_graph(path: Path) -> Graph:
    """Return the graph of a model whose weights lie in the file itself.

    Raises ValueError when it holds a weight of a type other than those of `TYPES`.
    """
    model = _fields(memoryview(path.read_bytes()))
    (graph,) = [value for number, value in model if number == 7]
    nodes, tensors = [], {}
    for number, value in _fields(graph):
        if number == 1:
            nodes.append(_read_node(value))
        elif number == 5:
            name, tensor = _read_tensor(value)
            tensors[name] = tensor
    return Graph(tuple(nodes), tensors)


class GraphWriter:
    """Builds a model of operations on named values."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []
        self._values = 0

    def constant(self, value: Tensor) -> str:
        """Add a weight and return its name."""
        name = self._name()
        shape = b"".join(_number(1, size) for size in value.shape)
        code = _number(2, CODES[value.dtype])
        raw = np.ascontiguousarray(value).tobytes()
        self._tensors.append(shape + code + _text(8, name) + _field(9, raw))
        return name

    def add(
        self, operator: str, *inputs: str, domain: str = "", **attributes: int | float | list[int]
    ) -> str:
        """Add an operation of one result and return the result's name."""
        return self.add_many(operator, 1, *inputs, domain=domain, **attributes)[0]

    def add_many(
        self,
        operator: str,
        count: int,
        *inputs: str,
        domain: str = "",
        **attributes: int | float | list[int],
    ) -> list[str]:
        """Add an operation of `count` results and return their names."""
        results = [self._name() for _ in range(count)]
        named = [_text(1, name) for name in inputs] + [_text(2, name) for name in results]
        given = [_field(5, _write_attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(
            b"".join([*named, _text(4, operator), *given, _text(7, domain)]),
        )
        return results

    def write(self, inputs: Sequence[str], output: str) -> bytes:
        """Return the file of the model: inputs are int64 of two axes, the output float32."""
        free = _field(2, _field(1, b"") * 2)  # two dimensions of any size
        given = [_text(1, name) + _field(2, _field(1, _number(1, 7) + free)) for name in inputs]
        made = _text(1, output) + _field(2, _field(1, _number(1, 1)))
        graph = [
            *(_field(1, node) for node in self._nodes),
            _text(2, "graph"),
            *(_field(5, tensor) for tensor in self._tensors),
            *(_field(11, value) for value in given),
            _field(12, made),
        ]
        versions = [_text(1, name) + _number(2, number) for name, number in VERSIONS.items()]
        return b"".join(
            [
                _number(1, IR_VERSION),
                _field(7, b"".join(graph)),
                *(_field(8, version) for version in versions),
            ]
        )

    def _name(self) -> str:
        self._values += 1
        return f"v{self._values}"


def _read_node(data: memoryview) -> Node:
    texts: dict[int, list[str]] = {1: [], 3: [], 4: []}
    for number, value in _fields(data):
        if number in texts:
            texts[number].append(bytes(value).decode())
    return Node("".join(texts[3]), "".join(texts[4]), tuple(texts[1]))


def _read_tensor(data: memoryview) -> tuple[str, Tensor]:
    shape: list[int] = []
    name, code = "", 0
    content: Tensor | None = None
    for number, value in _fields(data):
        if number == 1:
            shape += [value] if isinstance(value, int) else _varints(value)
        elif number == 2:
            code = value
        elif number == 4:
            content = np.frombuffer(value, np.float32)
        elif number == 5:  # small integers, each in a varint of 64 bits
            content = np.array(_varints(value), np.uint64).astype(np.int64)
        elif number == 8:
            name = bytes(value).decode()
        elif number == 9:
            content = np.frombuffer(value, TYPES.get(code, np.uint8))
    if code not in TYPES or content is None:
        raise ValueError(f"the weight {name} is of a type that is not known here: {code}")
    return name, content.astype(TYPES[code], copy=False).reshape(shape)


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """Yield (field number, value): numbers for varints, views of the bytes for all else."""
    i = 0
    while i < len(data):
        tag, i = _varint(data, i)
        kind = tag & 7
        if kind == 0:
            value, i = _varint(data, i)
            yield tag >> 3, value
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            size, i = _varint(data, i)
        yield tag >> 3, data[i : i + size]
        i += size


def _varint(data: memoryview, i: int) -> tuple[int, int]:
    """Return the number that begins at `i`, and where it ends."""
    value = shift = 0
    while True:
        byte = data[i]
        value |= (byte & 0x7F) << shift
        i, shift = i + 1, shift + 7
        if byte < 0x80:
            return value, i


def _varints(data: memoryview) -> list[int]:
    values, i = [], 0
    while i < len(data):
        value, i = _varint(data, i)
        values.append(value)
    return values


def _write_attribute(name: str, value: int | float | list[int]) -> bytes:
    if isinstance(value, float):
        content = struct.pack("<Bf", 2 << 3 | 5, value) + _number(20, 1)
    elif isinstance(value, int):
        content = _number(3, value) + _number(20, 2)
    else:
        content = b"".join(_number(8, item) for item in value) + _number(20, 7)
    return _text(1, name) + content


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode())


def _field(number: int, content: bytes) -> bytes:
    return _encode(number << 3 | 2) + _encode(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _encode(number << 3) + _encode(value & 0xFFFFFFFFFFFFFFFF)


def _encode(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
