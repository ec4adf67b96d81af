"""Weights in the safetensors format: a length, a JSON header, then the numbers.

Source: https://github.com/huggingface/safetensors#format
"""

import json
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_LENGTH = struct.Struct("<Q")


def read_weights(path: Path) -> Mapping[str, NDArray[np.float32]]:
    """Return the tensors of a file by name.

    Raises ValueError for a weight that is not of 32-bit floats.
    """
    content = memoryview(path.read_bytes())
    (length,) = _LENGTH.unpack(content[: _LENGTH.size])
    begin = _LENGTH.size + length
    header = json.loads(bytes(content[_LENGTH.size : begin]))
    tensors = {}
    for name, told in header.items():
        if name == "__metadata__":
            continue
        if told["dtype"] != "F32":
            raise ValueError(
                f"the weight {name} is of a type that is not known here: {told['dtype']}"
            )
        first, last = told["data_offsets"]
        numbers = np.frombuffer(content[begin + first : begin + last], np.float32)
        tensors[name] = numbers.reshape(told["shape"])
    return tensors
