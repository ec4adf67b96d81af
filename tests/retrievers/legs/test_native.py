import json
import re
import subprocess
import sys
import tempfile
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from samples.real_texts import real_texts

from assay.retrievers.base import Chunk
from assay.retrievers.corpus.corpus import Corpus
from assay.retrievers.engines.stores.qdrant_edge import QdrantEdgeSettings
from assay.retrievers.legs.native import NativeHybridLeg
from assay.retrievers.models.base import Encoder
from assay.retrievers.models.caching import CachingEncoder
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

QUERIES = ["add an argument to the parser", "print usage", "Namespace", "optional prefix chars"]


class HashingEncoder(Encoder):
    """Sums one random direction a word: a model that needs no file."""

    identity = "hashing"

    def encode_passages(self, texts):
        return np.stack([self.encode_query(text) for text in texts])

    def encode_query(self, text):
        seeds = [
            int.from_bytes(blake2b(word.encode(), digest_size=4).digest())
            for word in re.findall(r"\w+", text.lower()) or [""]
        ]
        total = sum(np.random.default_rng(seed).normal(size=32) for seed in seeds)
        return np.asarray(total / np.linalg.norm(total), np.float32)


def make_leg(folder, texts, **settings):
    resources = Resources(Cache(folder))
    engine = QdrantEdgeSettings.model_validate(settings).build(resources)
    leg = NativeHybridLeg(engine, CachingEncoder(HashingEncoder(), "hashing", resources))
    chunks = [
        Chunk(id=f"{len(texts) - number:06d}", doc_id="d", start=0, end=1, text=text)
        for number, text in enumerate(texts)
    ]
    leg.index(Corpus(chunks))
    return engine, leg


def test_recall_is_measured_where_search_is_approximate(cache):
    approximate, leg = make_leg(cache, real_texts(), exact=False, m=2, ef_construct=4, ef=1)
    for query in QUERIES:
        lists = approximate.lists(query, HashingEncoder().encode_query(query))
        expected = approximate.formula.fuse(*lists)
        assert leg.search(query, 1000).candidates == expected
        assert leg.search(query, 7).candidates == expected[:7]
    assert 0 < approximate.metadata()["recall_against_exact"] < 1
    leg.close()
    exact, leg = make_leg(cache, real_texts())
    assert "recall_against_exact" not in exact.metadata()
    assert leg.metadata()["engine"]["exact"] is True
    leg.close()


def test_the_shard_is_cached_and_its_copy_removed(tmp_path, monkeypatch):
    (tmp_path / "copies").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "copies"))
    resources = Resources(Cache(tmp_path / "cache"))
    chunks = [Chunk(id="1", doc_id="d", start=0, end=3, text="cat")]

    def index(**settings):
        engine = QdrantEdgeSettings.model_validate(settings).build(resources)
        leg = NativeHybridLeg(engine, CachingEncoder(HashingEncoder(), "hashing", resources))
        report = leg.index(Corpus(chunks))
        assert set(report.seconds) == {"embed", "engine"}
        assert report.bytes > 0
        assert leg.search("cat", 5).candidates
        leg.index(Corpus(chunks))
        assert len(list((tmp_path / "copies").iterdir())) == 1
        leg.close()
        return report.cached

    assert index() == ()
    assert index(k=2, depth={"dense": 3}) == ("embed", "engine")
    assert index(bm25={"k1": 2.0}) == ("embed",)
    assert list((tmp_path / "copies").iterdir()) == []


@pytest.mark.slow
def test_two_processes_at_once_agree(tmp_path):
    # The engine's hash tables are seeded per process: ties must not follow them.
    code = (
        "import json, sys; from pathlib import Path;"
        f"sys.path[:0] = {[str(Path(__file__).parents[i]) for i in (0, 2)]!r};"
        "import test_native as t;"
        "_, leg = t.make_leg(Path(sys.argv[1]), t.real_texts());"
        "print(json.dumps([leg.search(query, 100).candidates for query in t.QUERIES]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=60) for process in running]
    assert [process.returncode for process in running] == [0, 0], outputs
    assert json.loads(outputs[0][0]) == json.loads(outputs[1][0])


def test_every_language_builds(tmp_path):
    from typing import get_args

    from assay.retrievers.engines.stores.qdrant_edge import (
        Language,
        QdrantBm25Settings,
        make_embedder,
    )

    for language in get_args(Language):
        embedder = make_embedder(QdrantBm25Settings(language=language))
        assert embedder.embed_query("2024").indices
