"""Vectors of more texts than memory should hold: mapped, and the same as those that are held."""

from dataclasses import replace
from itertools import islice
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from pydantic import TypeAdapter

from assay.retrievers.base import AssayError, Document, Passage, Quiet
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.documents.preparation import DocumentSettings, prepare
from assay.retrievers.engines.recall import measure_recall, measure_shares
from assay.retrievers.engines.registry import EngineSettings
from assay.retrievers.engines.stores import lancedb
from assay.retrievers.fusion.ranking import best
from assay.retrievers.legs.compression import CompressedVectors
from assay.retrievers.models import caching
from assay.retrievers.models.base import EncodedPart, Encoder
from assay.retrievers.models.caching import CachingEncoder
from assay.retrievers.services.prices import FREE, Prices, Usage
from assay.retrievers.store import cache
from assay.retrievers.store.lazy_sequence import IdSequence

TEXTS = [f"text {number % 17}" for number in range(23)]


class Drawing(Encoder):
    """Draws a vector by the text; some have other dimensions; a service that counts 2 each."""

    identity = "drawing"
    prices = Prices(input=1.0, cache_write=1.0, cache_read=1.0, output=0.0)

    def __init__(self, *odd):
        self._odd = odd
        self.asked = []

    def encode_query(self, text):
        size = 5 if text in self._odd else 8
        drawn = np.random.default_rng(crc32(text.encode())).standard_normal(size, np.float32)
        return np.asarray(drawn / np.linalg.norm(drawn))

    def encode_passages(self, texts):
        self.asked += texts
        return np.stack([self.encode_query(text) for text in texts])

    def encode_parts(self, texts):
        for i, text in enumerate(texts):
            yield EncodedPart((i,), self.encode_passages([text]), 0.25, Usage(2))


@pytest.fixture
def small(monkeypatch):
    """Map the vectors of more than three texts, five texts at a time."""
    monkeypatch.setattr(caching, "MOST_HELD", 3)
    monkeypatch.setattr(caching, "PART", 5)


@pytest.mark.usefixtures("small")
def test_mapped_vectors_are_those_held(resources):
    encoder = CachingEncoder(Drawing(), "drawing", resources)
    first = encoder.encode(TEXTS)
    assert first.vectors.base is not None
    assert not first.vectors.flags.writeable
    assert np.array_equal(first.vectors, Drawing().encode_passages(TEXTS))
    assert first.fresh == 17
    assert encoder.recall_seconds(TEXTS) == 17 * 0.25
    assert encoder.recall_bill(TEXTS) == {"tokens": 34, "usd": 34e-6}
    assert encoder.recall_seconds([*TEXTS, "another"]) is None
    again = CachingEncoder(asked := Drawing(), "drawing", resources)
    assert np.array_equal(again.encode(TEXTS).vectors, first.vectors)
    assert again.encode(TEXTS).fresh == 0
    assert again.encode(TEXTS[::-1]).fresh == 0
    assert np.array_equal(again.encode(TEXTS[::-1]).vectors, first.vectors[::-1])
    assert asked.asked == []


class Failing(Drawing):
    """Breaks down at the fourth text; notes which of the first three are stored before each."""

    def __init__(self, resources, prices):
        super().__init__()
        self.prices = prices  # type: ignore[assignment]
        self.stored = []
        self._look = CachingEncoder(self, "failing", resources).find_missing

    def encode_parts(self, texts):
        for part in islice(super().encode_parts(texts), 3):
            self.stored.append(3 - len(self._look(TEXTS[:3])))
            yield part
        raise AssayError("broken down")


@pytest.mark.parametrize(
    ("prices", "held", "stored"),
    [(FREE, 60.0, [0, 0, 0]), (FREE, 0.0, [0, 1, 2]), (Drawing.prices, 60.0, [0, 1, 2])],
)
def test_vectors_are_stored_in_time_and_paid_ones_at_once(
    prices, held, stored, resources, monkeypatch
):
    monkeypatch.setattr(cache, "SECONDS_HELD", held)
    failing = Failing(resources, prices)
    encoder = CachingEncoder(failing, "failing", resources)
    with pytest.raises(AssayError, match="broken down"):
        encoder.encode(TEXTS)
    assert failing.stored == stored
    assert encoder.find_missing(TEXTS) == TEXTS[3:17]
    assert encoder.recall_seconds(TEXTS[:3]) == 3 * 0.25


class Counting(Quiet):
    """Notes what was tracked, and how much of how much came."""

    def __init__(self):
        self.seen = []

    def track(self, items, what, total):
        came = 0
        for item in items:
            came += 1
            yield item
        self.seen.append((what, came, total))


@pytest.mark.usefixtures("small")
def test_progress_is_that_of_all_texts(resources):
    encoder = CachingEncoder(
        Drawing(), "drawing", replace(resources, progress=(counting := Counting()))
    )
    encoder.keep(TEXTS[:2])
    encoder.encode(TEXTS)
    assert counting.seen == [("embedding with drawing", 2, 2), ("embedding with drawing", 23, 23)]


@pytest.mark.usefixtures("small")
def test_vectors_of_two_sizes_leave_no_file(resources):
    encoder = CachingEncoder(Drawing("text 16"), "drawing", resources)
    with pytest.raises(AssayError, match="5 or 8 dimensions"):
        encoder.encode(TEXTS)
    assert not list(resources.cache.root.glob("vectors/*/*.npy"))


@pytest.mark.slow
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("engine", [{"type": "lancedb"}, {"type": "qdrant-edge"}])
def test_engines_take_mapped_texts_and_vectors_as_held_ones(engine, resources, monkeypatch):
    pytest.importorskip(engine["type"].replace("-", "_"))
    monkeypatch.setattr(lancedb, "ROWS_PER_BATCH", 4)
    documents = [
        Document(f"d{i:02}", text, passages=(Passage(f"d{i:02}", 0, len(text)),))
        for i, text in enumerate(TEXTS)
    ]
    shelf = IdSequence(np.array([hash(item.id) for item in documents]), documents.__getitem__)
    found, reports = [], []
    for given in (shelf, documents):
        corpus = Corpus(prepare(given, DocumentSettings(), resources).chunks)
        encoded = corpus.encode(encoder := CachingEncoder(Drawing(), "drawing", resources))
        opened = TypeAdapter[Any](EngineSettings).validate_python(engine).build(resources)
        try:
            identity = encoder.identity
            reports.append(opened.index(corpus.texts, encoded.vectors, identity))
            vector = encoder.encode_query("text 3")
            found.append([opened.dense(vector, 23), opened.keyword("text 3", 23)])
        finally:
            opened.close()
    assert found[0] == found[1]
    assert {i for i, _ in found[0][0]} == set(range(23))
    assert [report.cached for report in reports] == [(), ("engine",)]


def test_recall_is_of_the_nearest_of_all(monkeypatch):
    monkeypatch.setattr("assay.retrievers.engines.recall.ROWS_PER_BLOCK", 7)
    vectors = Drawing().encode_passages([str(number) for number in range(40)])

    def search(lost):
        def dense(vector, limit):
            return best(vectors @ vector, limit)[lost:]

        return dense

    assert measure_recall(search(0), vectors, depth=10) == 1
    assert measure_shares(search(3), vectors, list(vectors[:4]), 10) == [0.7] * 4
    assert measure_recall(search(0), vectors, depth=99) == 1


def test_vectors_are_compressed_block_by_block(monkeypatch, tmp_path):
    vectors = Drawing().encode_passages([str(number) for number in range(40)])
    for form in ("none", "int8", "binary"):
        whole = CompressedVectors(vectors, 6, form, None)
        with monkeypatch.context() as patch:
            patch.setattr("assay.retrievers.legs.compression.ROWS_PER_BLOCK", 9)
            parts = CompressedVectors(vectors, 6, form, None)
            assert parts.search(vectors[3], 40) == whole.search(vectors[3], 40)
        assert parts.bytes == whole.bytes
