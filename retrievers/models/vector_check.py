"""The one check of vectors, whichever encoder gives them: of passages, queries and the cache."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.retrievers.base import AssayError, cut
from assay.retrievers.models.base import Vectors

TOLERANCE = 0.01  # quantised models and half precision are off by less
SHOWN = 40  # characters of a text
CACHED = "`assay cache clear {kind}` forgets it"


def check_vectors(name: str, given: Any, texts: Sequence[str], way: str = "") -> Vectors:
    """Return the rows `given` for `texts` by the encoder `name` as float32.

    Raises AssayError, which ends with the `way` out, unless each text has a row of finite numbers
    and of length 1: NaN compares with nothing, so that its text would never be found, and another
    length is taken for nearness.
    """
    found = np.asarray(given)
    if found.ndim != 2 or len(found) != len(texts) or found.dtype.kind not in "fiu":
        raise AssayError(
            f"{name}: gives {found.dtype} of shape {found.shape} for {len(texts)} texts; allowed: "
            "float32, one row a text"
        )
    vectors: Vectors = found.astype(np.float32, copy=False)
    with np.errstate(invalid="ignore", over="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        wrong = np.flatnonzero(~(np.abs(lengths - 1) <= TOLERANCE))
    if not len(wrong):
        return vectors
    first, row = lengths[wrong[0]], vectors[wrong[0]]
    fault = f"has the length {first:.4g}" if np.isfinite(row).all() else "is not finite"
    more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    raise AssayError(
        f"{name}: the vector of {cut(texts[wrong[0]], SHOWN)!r}{more} {fault}; allowed: finite "
        f"numbers, divided by their length, so that it is 1{'; ' if way else ''}{way}"
    )
