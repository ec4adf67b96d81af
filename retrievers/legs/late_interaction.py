"""Late interaction: a vector per token, scored by MaxSim against every chunk."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from assay.retrievers.base import IndexReport
from assay.retrievers.base.installation import read_version
from assay.retrievers.base.stopwatch import Stopwatch
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.fusion.ranking import best
from assay.retrievers.legs.base import Kind, Leg, LegResult, LegSettings, ScoringLeg
from assay.retrievers.models.base import Vectors
from assay.retrievers.models.late_interaction.token_vectors import TokenEncoderSettings
from assay.retrievers.settings import Resources
from assay.retrievers.store.digest import digest

REVISION = 1  # raise it when the file of vectors comes to differ
ROWS_PER_BLOCK = 16_384  # token vectors that a search turns into floats at a time, at the least
# Products of matrices differ in their last bits by where a row stands; equal chunks have to tie.
DECIMALS = 5


class LateInteractionLegSettings(LegSettings):
    """Late interaction (ColBERT): a vector a token, and exact MaxSim over all chunks."""

    kind: ClassVar[Kind] = "semantic"
    prefix_stable: ClassVar[bool] = True
    type: Literal["late_interaction"]
    encoder: TokenEncoderSettings = Field(
        default_factory=TokenEncoderSettings,
        description="the model that gives a vector a token, or its name",
    )

    def build(self, resources: Resources) -> Leg:
        """Return the leg, not yet indexed."""
        return LateInteractionLeg(self, resources)


class LateInteractionLeg(ScoringLeg):
    """Scores each chunk by the mean over the query's tokens of the greatest cosine to one of its.

    That is ColBERT's sum (Khattab and Zaharia, arXiv:2004.12832, section 3.3) divided by the number
    of the query's tokens: the same order, on the scale of cosines.
    """

    def __init__(self, settings: LateInteractionLegSettings, resources: Resources) -> None:
        self._resources = resources
        self._encoder = settings.encoder.build(resources)
        self._vectors: TokenVectors | None = None

    def index(self, corpus: Corpus) -> IndexReport:
        """Encode the chunks into a file that is mapped into memory, or find it in the cache."""
        texts = corpus.texts
        self._vectors = None
        if not texts:
            return IndexReport(0)

        def make(folder: Path) -> None:
            write_vectors(folder, self._encoder.find(texts))

        key = digest(
            "late interaction",
            REVISION,
            read_version("numpy"),
            self._encoder.identity,
            corpus.digest,
        )
        folder, vectors = self._resources.cache.load("late_interaction", key, make, TokenVectors)
        self._vectors = vectors
        seconds = self._encoder.recall_seconds(texts)
        return IndexReport(
            chunks=len(texts),
            seconds={} if seconds is None else {"embed": seconds},
            bytes=vectors.bytes,
            cached=("embed",) if folder.cached else (),
        )

    def search(self, query: str, depth: int) -> LegResult:
        """Return the `depth` chunks of the greatest score; a blank query matches none."""
        if not query.strip() or self._vectors is None:
            return LegResult([], {"encode": 0.0, "search": 0.0})
        watch = Stopwatch()
        tokens = self._encoder.encode_query(query)
        watch.stop("encode")
        candidates = best(self._vectors.score(tokens), depth, self._allowed)
        watch.stop("search")
        return LegResult(
            candidates,
            watch.wall,
            counts={"query_tokens": len(tokens)},
            cpu=watch.cpu,
        )

    def metadata(self) -> Mapping[str, Any]:
        """Return the facts of the encoder."""
        return {**self._encoder.metadata(), "search": "exact MaxSim, float16"}


def write_vectors(folder: Path, found: Iterator[NDArray[np.float16]]) -> None:
    """Write the token vectors of each text, one after the other; few are held at a time."""
    counts: list[int] = []
    width = 0
    with (folder / "vectors.f16").open("wb") as file:
        for vectors in found:
            file.write(vectors.tobytes())
            counts.append(len(vectors))
            width = vectors.shape[1]
    np.save(folder / "starts.npy", np.cumsum([0, *counts]))
    np.save(folder / "width.npy", np.array(width))


class TokenVectors:
    """The token vectors of all texts, mapped into memory. Each text has at least one."""

    def __init__(self, folder: Path) -> None:
        self._starts: NDArray[np.int64] = np.load(folder / "starts.npy")
        shape = int(self._starts[-1]), int(np.load(folder / "width.npy"))
        self._rows = np.memmap(folder / "vectors.f16", np.float16, mode="r", shape=shape)
        self._blocks = list(_cut(self._starts))

    @property
    def bytes(self) -> int:
        """The bytes of the vectors in the file."""
        return int(self._rows.nbytes)

    def score(self, query: Vectors) -> NDArray[np.float64]:
        """Return each text's mean over the rows of `query` of the greatest cosine to its rows."""
        scores = np.empty(len(self._starts) - 1)
        for first, last in self._blocks:
            begin, end = self._starts[first], self._starts[last]
            cosines = self._rows[begin:end].astype(np.float32) @ query.T
            greatest = np.maximum.reduceat(cosines, self._starts[first:last] - begin)
            scores[first:last] = greatest.mean(axis=1, dtype=np.float64)
        return np.round(scores, DECIMALS)


def _cut(starts: Sequence[int] | NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield the texts from and before which a block goes, in as few blocks as may be."""
    bounds = [0]
    for i in range(1, len(starts)):
        if starts[i] - starts[bounds[-1]] >= ROWS_PER_BLOCK:
            bounds.append(i)
    if bounds[-1] != len(starts) - 1:
        bounds.append(len(starts) - 1)
    yield from pairwise(bounds)
