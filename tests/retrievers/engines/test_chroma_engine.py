from contextlib import closing
from pathlib import Path

import numpy as np
from samples.real_texts import real_texts
from tools.extras import skip_without

from assay.retrievers.engines.conformance.sample import encode
from assay.retrievers.engines.stores.chroma import DATABASE, ChromaSettings, open_client
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

skip_without("chromadb", "chroma")

TEXTS = real_texts()
VECTORS = np.stack([encode(text) for text in TEXTS])


def make(folder, **settings):
    chosen = ChromaSettings.model_validate({"type": "chroma", **settings})
    return chosen.build(Resources(Cache(folder)))


def test_it_searches_by_its_graph_and_says_so(tmp_path):
    def measure(**settings):
        with closing(make(tmp_path, **settings)) as engine:
            engine.index(TEXTS, VECTORS, "hashing")
            assert engine.metadata()["exact"] is False
            return engine.metadata()["recall_against_exact"]

    poor, wide = (measure(m=4, ef_construction=4, ef=ef) for ef in (1, 350))
    assert 0 < poor < min(wide, measure())  # a graph of several threads is never twice the same


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
