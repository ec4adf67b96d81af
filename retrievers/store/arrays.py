"""Arrays on disk that are longer than memory should hold."""

from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import DTypeLike, NDArray


class ArrayFile:
    """A `.npy` file of known `shape`, written piece by piece along its first axis."""

    def __init__(self, path: Path, dtype: DTypeLike, *shape: int) -> None:
        self._dtype = np.dtype(dtype)
        self._file = path.open("wb")
        header = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": shape,
        }
        np.lib.format.write_array_header_1_0(self._file, header)

    def add(self, piece: NDArray[np.generic]) -> None:
        """Write what follows on the pieces before."""
        self._file.write(piece.astype(self._dtype, copy=False).tobytes())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
