"""What the benchmark searches: real passages, passages composed of their sentences, vectors."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eval.collections.catalog import find_card
from eval.collections.loading import load
from eval.collections.location import why_unavailable
from retrievers.documents.preparation import DocumentSettings, prepare
from retrievers.models.base import Encoder, Vectors
from retrievers.settings import Workshop

COLLECTIONS = ("harbourline", "scifact", "anthropic_codebase")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
SEED = 2_024
NOISE = 0.5  # length of the noise beside a vector of length 1


@dataclass(frozen=True, slots=True)
class Source:
    """The searchable texts of one collection's chunks, and its queries."""

    name: str
    passages: tuple[str, ...]
    queries: tuple[str, ...]


def read_sources(workshop: Workshop) -> tuple[list[Source], list[str]]:
    """Return the collections that are here, and a line for each that is not."""
    sources, absent = [], []
    for name in COLLECTIONS:
        if reason := why_unavailable(find_card(name)):
            absent.append(f"without {name}: {reason}")
            continue
        collection = load(name)
        chunks = prepare(collection.documents, DocumentSettings(), workshop).chunks
        passages = tuple(dict.fromkeys(chunk.searchable for chunk in chunks))
        sources.append(Source(name, passages, tuple(query.text for query in collection.queries)))
    return sources, absent


def compose(sources: Sequence[Source], count: int) -> list[str]:
    """Return `count` passages: the real ones, shuffled, and then as many composed as it takes.

    A composed passage is as long as a real one drawn at random, and made of sentences drawn from
    all passages of the same collection, each sentence as likely as it is frequent there. Fewer
    passages are always the beginning of more.
    """
    draw = random.Random(SEED)
    sentences = {
        source.name: [
            sentence
            for passage in source.passages
            for sentence in SENTENCE_END.split(passage)
            if sentence.strip()
        ]
        for source in sources
    }
    real = [(source.name, passage) for source in sources for passage in source.passages]
    draw.shuffle(real)
    passages = [passage for _, passage in real[:count]]
    while len(passages) < count:
        name, model = draw.choice(real)
        parts: list[str] = []
        while sum(map(len, parts)) + len(parts) < len(model):
            parts.append(draw.choice(sentences[name]))
        passages.append(" ".join(parts))
    return passages


def sample_queries(sources: Sequence[Source], count: int) -> list[str]:
    """Return `count` queries of all sources, evenly spaced, or all when there are fewer."""
    queries = [query for source in sources for query in source.queries]
    count = min(count, len(queries))
    return [queries[at * len(queries) // count] for at in range(count)]


def scatter(vectors: Vectors, count: int) -> Vectors:
    """Return `count` vectors of unit length: rows of `vectors` with Gaussian noise added."""
    draw = np.random.default_rng(SEED)
    dimensions = vectors.shape[1]
    scattered = draw.standard_normal((count, dimensions), np.float32)
    scattered *= NOISE / dimensions**0.5
    scattered += vectors[draw.integers(len(vectors), size=count)]
    scattered /= np.linalg.norm(scattered, axis=1, keepdims=True)
    return scattered


class PreparedEncoder(Encoder):
    """Gives each text the vector prepared for it, in the name of the encoder `identity`.

    Behind a CachingEncoder it fills the cache, so that the pipelines find every passage embedded.
    """

    def __init__(self, identity: str, vectors: Mapping[str, Vectors]) -> None:
        self._identity = identity
        self._vectors = vectors

    @property
    def identity(self) -> str:
        """The identity of the encoder whose place it takes."""
        return self._identity

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return the prepared rows."""
        return np.stack([self._vectors[text] for text in texts])

    def encode_query(self, text: str) -> Vectors:
        """Queries are embedded by the real encoder."""
        raise NotImplementedError
