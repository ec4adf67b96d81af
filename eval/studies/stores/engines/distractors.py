"""Passages that answer no query, so that a collection is as large as stores are to be measured on.

Each is the first half of one passage and the second half of another, neither of which is judged
relevant to any query: its words are the collection's own. Its vector is drawn about the middle
between theirs, as far from it as the vectors of a few lie that are embedded for real: the middle
itself would be nearer to every query than real vectors are.
"""

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.eval.collections.collection import Collection
from assay.eval.scoring.join import RetrievedChunk, covers
from assay.eval.statistics.estimates import estimate_mean
from assay.eval.studies.stores.engines.benchmark import DistractorFacts
from assay.retrievers.base import AssayError, Chunk
from assay.retrievers.models.base import Encoder, Vectors
from assay.retrievers.store.digest import digest
from assay.retrievers.store.sources import digest_imports

SEED = 2_026
EMBEDDED = 64  # are embedded for real
DECIMALS = 2  # of their likeness count: others follow the machine


class Distractors(NamedTuple):
    """Chunks and a vector of unit length for each, of shape (chunks, dimensions).

    `identity` is a digest of all that vectors depend on beside the texts and the encoder.
    """

    chunks: list[Chunk]
    vectors: Vectors
    identity: str
    facts: DistractorFacts


def make_distractors(
    collection: Collection,
    chunks: Sequence[Chunk],
    vectors: Vectors,
    queries: Vectors,
    passages: int,
    encoder: Encoder,
) -> Distractors:
    """Return as many as bring `chunks` to so many `passages`, the same ones at every call.

    `vectors` are those of the chunks, `queries` those of the queries. Raises AssayError where there
    are as many passages already, or too few that no query asks for.
    """
    count = passages - len(chunks)
    if count < 1:
        raise AssayError(
            f"{passages:,} passages: {collection.name} has {len(chunks):,} already; allowed: more"
        )
    relevant = find_relevant(collection, chunks)
    free = np.array([i for i in range(len(chunks)) if i not in relevant], dtype=int)
    pairs = len(free) * (len(free) - 1)
    if pairs < count:
        raise AssayError(
            f"{passages:,} passages: {len(free):,} of {collection.name} answer no query, which "
            f"make {pairs:,} more; allowed: {len(chunks) + pairs:,} at most"
        )
    drawn = np.array(random.Random(SEED).sample(range(pairs), count))
    first, second = np.divmod(drawn, len(free) - 1)
    second += second >= first  # no passage is paired with itself
    halves = [_halve(chunks[i].searchable) for i in free]
    texts = [f"{halves[a][0]} {halves[b][1]}" for a, b in zip(first, second, strict=True)]
    middles = _normalise(vectors[free[first]] + vectors[free[second]])
    chosen = np.unique(np.linspace(0, count - 1, min(EMBEDDED, count)).astype(int))
    real = encoder.encode_passages([texts[i] for i in chosen])
    likeness = estimate_mean(np.einsum("ij,ij->i", real, middles[chosen]).tolist())
    cosine = round(likeness.value, DECIMALS)
    scattered = scatter_about(middles, cosine)
    return Distractors(
        [Chunk(id_ := f"distractor-{i}", id_, 0, len(text), text) for i, text in enumerate(texts)],
        scattered,
        digest(cosine, digest_imports(__name__)),
        DistractorFacts(
            count,
            likeness,
            float(np.mean(queries @ real.T)),
            float(np.mean(queries @ scattered[chosen].T)),
        ),
    )


def scatter_about(middles: Vectors, cosine: float) -> Vectors:
    """Return for each of `middles`, of unit length, one at this `cosine` to it, drawn at random."""
    aside = np.random.default_rng(SEED).standard_normal(middles.shape, np.float32)
    aside -= np.einsum("ij,ij->i", aside, middles)[:, None] * middles
    aside = _normalise(aside)
    return _normalise(cosine * middles + math.sqrt(1 - cosine**2) * aside)


def find_relevant(collection: Collection, chunks: Sequence[Chunk]) -> set[int]:
    """Return the positions of the chunks that cover what is relevant to some query."""
    by_document: dict[str, list[int]] = {}
    for i, chunk in enumerate(chunks):
        by_document.setdefault(chunk.doc_id, []).append(i)
    return {
        i
        for items in collection.gold.values()
        for item in items
        if item.grade > 0
        for i in by_document.get(item.doc_id, ())
        if covers(RetrievedChunk(chunks[i], chunks[i].id in collection.prescribed), item)
    }


def _halve(text: str) -> tuple[str, str]:
    words = text.split()
    middle = len(words) // 2
    return " ".join(words[:middle]), " ".join(words[middle:])


def _normalise(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / lengths, np.float32)
