from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from samples.real_texts import real_texts
from tools.extras import skip_without

from assay.retrievers.engines.conformance.sample import encode
from assay.retrievers.engines.stores.chroma import (
    DATABASE,
    ChromaSettings,
    open_client,
)
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

skip_without("chromadb", "chroma")

TEXTS = real_texts()
VECTORS = np.stack([encode(text) for text in TEXTS])


def make(folder, **settings):
    chosen = ChromaSettings.model_validate({"type": "chroma", **settings})
    return chosen.build(Resources(Cache(folder)))


def test_it_searches_by_its_graph_and_says_so(tmp_path):
    def measure(**settings: int) -> tuple[float, tuple[str, ...]]:
        with closing(make(tmp_path, **settings)) as engine:
            cached = engine.index(TEXTS, VECTORS, "hashing").cached
            assert engine.metadata()["exact"] is False
            return engine.metadata()["recall_against_exact"], cached

    poor, built = measure(m=4, ef_construction=4, ef=1)
    wide, cached = measure(m=4, ef_construction=4, ef=350)
    good, anew = measure()
    assert 0 < poor < min(wide, good)  # a graph that several threads made is never twice the same
    assert (built, cached, anew) == ((), ("engine",), ())


def test_scores_are_cosines_best_first(tmp_path):
    with closing(make(tmp_path)) as engine:
        engine.index(TEXTS, VECTORS, "hashing")
        found = engine.dense(VECTORS[3], 400)
        assert len(found) == len(TEXTS)
        assert [score for _, score in found] == pytest.approx(
            [float(VECTORS[i] @ VECTORS[3]) for i, _ in found], abs=1e-5
        )
        assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))


def test_neither_environment_nor_file_make_it_talk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = {
        "CHROMA_API_IMPL": "chromadb.api.fastapi.FastAPI",
        "CHROMA_SERVER_HOST": "127.0.0.1",
        "CHROMA_OTEL_COLLECTION_ENDPOINT": "http://127.0.0.1:9",
        "ANONYMIZED_TELEMETRY": "True",
    }
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    Path(".env").write_text("".join(f"{name}={value}\n" for name, value in told.items()))
    client = open_client(tmp_path / DATABASE)
    settings = client.get_settings()
    client.close()
    assert not settings.anonymized_telemetry
    assert settings.chroma_server_host is None
    assert not settings.chroma_otel_collection_endpoint
    assert settings.chroma_api_impl == "chromadb.api.rust.RustBindingsAPI"
    assert (tmp_path / DATABASE / "chroma.sqlite3").exists()


def test_its_copy_goes_when_it_is_closed(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    engine = make(tmp_path)
    engine.index(TEXTS[:20], VECTORS[:20], "hashing")
    assert list(folder.glob("assay-chroma-*"))
    engine.close()
    assert not list(folder.iterdir())
