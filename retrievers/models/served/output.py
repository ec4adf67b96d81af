"""Vectors that a service gives in int8 or in bits, as its models were made to."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from assay.retrievers.base import AssayError
from assay.retrievers.models.base import Vectors
from assay.retrievers.models.served.encoder import ServedEncoderSettings

Output = Literal["float", "int8", "binary"]

# What the services call them. Bits come eight to a byte, the first the highest.
NAMES: Mapping[Output, str] = {"float": "float", "int8": "int8", "binary": "ubinary"}
RANGES: Mapping[Output, tuple[int, int]] = {"int8": (-128, 127), "binary": (0, 255)}


class OutputEncoderSettings(ServedEncoderSettings):
    """An embedding model behind HTTP that can give smaller numbers than floats."""

    output: Output = Field(
        "float",
        description=(
            "what the service gives of each number, for passages and queries alike: a float, int8,"
            " or one bit (binary), read as 1 or -1"
        ),
    )

    @model_validator(mode="after")
    def _fills_bytes(self) -> "OutputEncoderSettings":
        if self.output == "binary" and self.dimensions and self.dimensions % 8:
            raise ValueError(f"dimensions: {self.dimensions}; with output: binary a multiple of 8")
        return self

    @property
    def variety(self) -> Sequence[Any]:
        """The output, where it is no float."""
        return (*super().variety, *self._list_output())

    @property
    def told(self) -> Mapping[str, Any]:
        """The output."""
        return {"output": self.output}

    def unpack(self, rows: Vectors) -> Vectors:
        """Return bits as 1 and -1. Raises AssayError for numbers of another form."""
        if self.output == "float" or rows.ndim != 2:
            return rows
        least, most = RANGES[self.output]
        if not np.all((rows >= least) & (rows <= most) & (rows == np.rint(rows))):
            raise AssayError(
                f"{self.name}: output: {self.output} was asked for, and the numbers that it gives"
                f" are not whole ones between {least} and {most}"
            )
        if self.output == "int8":
            return rows
        bits = np.unpackbits(rows.astype(np.uint8), axis=1)
        return 2 * bits.astype(np.float32) - 1

    def _list_output(self) -> Sequence[str]:
        return () if self.output == "float" else (self.output,)
