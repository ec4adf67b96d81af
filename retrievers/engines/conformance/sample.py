"""Sample texts, queries and model-free vectors for the conformance rules."""

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from assay.retrievers.engines.base import Engine
from assay.retrievers.engines.capabilities import Search
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors

DIMENSIONS = 32
TOPICS = ("ferry", "harbour", "ticket", "winter", "refund", "lantern", "anchor", "tide")
TEXTS = tuple(
    f"{TOPICS[i % 8]} {TOPICS[i * 3 % 7]} paragraph {i} tells of {TOPICS[i // 8 % 8]} "
    + "and of the weather " * (i % 5)
    for i in range(120)
)
QUERIES = ("winter ferry", "refund of a ticket", "lantern", "paragraph 17", "the anchor and tide")
FEW = ("cats run fast", "the dog", "a running cat and a cat", "", "--")
ODD = (
    "'", '"', "''; DROP TABLE texts; --", "a AND OR NOT b", "ferry -ticket", "ferry*", "(ferry",
    "ferry:ticket", "title:ferry^2", "ferry~", "/ferry/", "\\", "{", "[1 TO 2]", "NEAR(ferry)",
    "%", "_", "ferry\x00ticket", "…", "日本語", "🙂", "?" * 50, "ferry " * 400, "$1", ":name",
    "&|!<->",
)  # fmt: skip


def encode(text: str) -> Vectors:
    """Return a vector of unit length that is near to those of texts with the same words."""
    total = sum(_encode_word(word) for word in text.lower().split() or [""])
    return np.asarray(total / np.linalg.norm(total), np.float32)


@cache
def _encode_word(word: str) -> NDArray[np.float64]:
    seed = int.from_bytes(blake2b(word.encode(), digest_size=4).digest())
    return np.random.default_rng(seed).normal(size=DIMENSIONS)


def index(engine: Engine, texts: Sequence[str] = TEXTS, identity: str = "hashing") -> Vectors:
    """Index `texts` with their vectors, and return these."""
    vectors = np.array([encode(text) for text in texts], np.float32).reshape(-1, DIMENSIONS)
    engine.index(texts, vectors, identity)
    return vectors


def search(engine: Engine, kind: Search, query: str, limit: int) -> list[Scored]:
    """Search by words, by their vector, or by both."""
    if kind == "keyword":
        return engine.keyword(query, limit)
    vector = encode(query)
    return engine.dense(vector, limit) if kind == "dense" else engine.hybrid(query, vector, limit)


def search_fully(engine: Engine, query: str, limit: int) -> list[Scored]:
    """Search in the last of the ways that the engine has: hybrid, if it has that."""
    return search(engine, engine.searches[-1], query, limit)
