"""Grow a collection with passages composed of its sentences, and make vectors for them.

This is for timing only: the time of exact search does not depend on the texts and vectors.
"""

import random
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.eval.collections.loading import load
from assay.eval.configs.config import RunConfig
from assay.retrievers.base import Document, Passage
from assay.retrievers.documents.preparation import DocumentSettings, prepare
from assay.retrievers.models.base import Encoder, Vectors
from assay.retrievers.models.caching import CachingEncoder
from assay.retrievers.models.choice import EncoderChoice
from assay.retrievers.settings import Resources

SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
SEED = 2_024
NOISE = 0.5  # length of the noise added to a vector of length 1
EMBEDDED = 64  # passages that are embedded by the real encoder


@dataclass(frozen=True, slots=True)
class CorpusSource:
    """The searchable texts of one collection's chunks, and its queries."""

    name: str
    passages: tuple[str, ...]
    queries: tuple[str, ...]


def read_source(name: str, resources: Resources) -> CorpusSource:
    """Return a collection as a source. Raises AssayError if it is not available."""
    collection = load(name, resources.progress)
    chunks = prepare(collection.documents, DocumentSettings(), resources).chunks
    passages = tuple(dict.fromkeys(chunk.searchable for chunk in chunks))
    return CorpusSource(name, passages, tuple(query.text for query in collection.queries))


def compose(sources: Sequence[CorpusSource], count: int) -> list[str]:
    """Return `count` passages: the real ones, shuffled, and then composed ones.

    A composed passage is as long as a real one drawn at random, and made of sentences drawn from
    all passages of the same collection in proportion to their frequency. The passages of a smaller
    count are the first ones of a larger count.
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


def make_documents(passages: Sequence[str]) -> list[Document]:
    """Return a document of one prescribed passage for each of `passages`."""
    return [
        Document(f"{number:07}", text, passages=(Passage(f"{number:07}", 0, len(text)),))
        for number, text in enumerate(passages)
    ]


def find_encoders(configs: Iterable[RunConfig]) -> list[EncoderChoice]:
    """Return the distinct encoders of the legs of the pipelines."""
    legs = [leg for config in configs for leg in getattr(config.retriever, "legs", {}).values()]
    values = (value for leg in legs for _, value in leg)
    return list(dict.fromkeys(item for item in values if isinstance(item, EncoderChoice)))


def embed(
    encoders: Iterable[EncoderChoice], passages: Sequence[str], resources: Resources
) -> dict[str, float]:
    """Store a vector of each passage in the cache, for each encoder.

    Only the first `EMBEDDED` passages are really embedded. Returns the number of passages that each
    model embeds per second.
    """
    rates = {}
    for settings in encoders:
        encoder = settings.build(resources)
        encoder.encode_query("loads the model")
        begin = time.perf_counter()
        vectors = encoder.encode_passages(passages[:EMBEDDED])
        rates[settings.name] = len(vectors) / (time.perf_counter() - begin)
        scattered = scatter(vectors, len(passages))
        prepared = dict(zip(passages, scattered, strict=True))
        stand_in = PreparedEncoder(encoder.identity, prepared)
        CachingEncoder(stand_in, "prepared vectors", resources).encode(passages)
    return rates


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
    """An encoder that returns prepared vectors under the identity of another encoder.

    Inside a CachingEncoder it fills the cache, so that pipelines find every passage embedded.
    """

    def __init__(self, identity: str, vectors: Mapping[str, Vectors]) -> None:
        self._identity = identity
        self._vectors = vectors

    @property
    def identity(self) -> str:
        """The identity of the encoder that it replaces."""
        return self._identity

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Return the prepared rows."""
        return np.stack([self._vectors[text] for text in texts])

    def encode_query(self, text: str) -> Vectors:
        """Raise NotImplementedError: queries are embedded by the real encoder."""
        raise NotImplementedError
