"""Stores measured one after another, on a collection and on more passages than it has."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter
from samples.parity import make_bench
from tools.processes import ROOT

from assay.eval.configs.engine_settings import choose_engines
from assay.eval.runs.files import encode_json
from assay.eval.studies.stores.engines import benchmark_running, measurement
from assay.eval.studies.stores.engines.benchmark import Benchmark
from assay.eval.studies.stores.engines.benchmark_page import list_rows, read_stores
from assay.eval.studies.stores.engines.engine_bench import (
    Bench,
    find_relevant,
    make_distractors,
    scatter_about,
)
from assay.retrievers.base import AssayError
from assay.retrievers.engines.conformance.sample import encode
from assay.retrievers.models.base import Encoder, Vectors
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache


class Hashing(Encoder):
    """Gives what the bench has."""

    identity = "hashing"

    def encode_passages(self, texts: Any) -> Vectors:
        return np.stack([encode(text) for text in texts])

    def encode_query(self, text: str) -> Vectors:
        return encode(text)


def add(bench: Bench, passages: int) -> Any:
    queries = np.stack(list(bench.encoded.values()))
    given = (bench.collection, bench.chunks, bench.vectors, queries)
    return make_distractors(*given, passages, Hashing())


def test_distractors_are_of_passages_that_answer_nothing() -> None:
    bench = make_bench()
    relevant = find_relevant(bench.collection, bench.chunks)
    free = [i for i in range(len(bench.chunks)) if i not in relevant]
    assert 1 < len(free) < len(bench.chunks)
    most = len(bench.chunks) + len(free) * (len(free) - 1)
    found = add(bench, most)
    assert found.facts.count == len(found.chunks) == len({chunk.text for chunk in found.chunks})
    begins = {tuple(bench.texts[i].split()[:2]) for i in free}
    assert {tuple(chunk.text.split()[:2]) for chunk in found.chunks} == begins
    assert not {chunk.doc_id for chunk in found.chunks} & bench.collection.texts.keys()
    assert np.array_equal(add(bench, most).vectors, found.vectors)
    for passages, allowed in ((most + 1, f"allowed: {most} at most"), (3, "allowed: more")):
        with pytest.raises(AssayError, match=allowed):
            add(bench, passages)


def test_vectors_lie_about_the_middle_as_far_as_real_ones() -> None:
    middles = np.stack([encode(text) for text in ("one", "two", "three")])
    drawn = scatter_about(middles, 0.8)
    assert np.einsum("ij,ij->i", drawn, middles) == pytest.approx([0.8] * 3, abs=1e-5)
    assert np.linalg.norm(drawn, axis=1) == pytest.approx([1.0] * 3, abs=1e-5)


@pytest.fixture
def measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a call of `measure_stores` on the sample, which gives engines and what was done."""
    monkeypatch.setattr(benchmark_running, "open_bench", lambda *_: make_bench())
    done: list[str] = []
    real = measurement.measure_store

    def record(bench: Bench, configured: Any, *rest: Any) -> Any:
        done.append(configured.label)
        return real(bench, configured, *rest)

    monkeypatch.setattr(benchmark_running, "measure_store", record)
    resources = Resources(Cache(tmp_path / "cache"))

    def call(*names: str, rerun: bool = False) -> Any:
        done.clear()
        folder = tmp_path / "pages"
        found, _ = benchmark_running.measure_stores(
            names, "sample", None, None, folder, rerun, resources
        )
        kept = replace(found, stores=read_stores(found, folder))
        assert encode_json(kept.as_json()) == encode_json(found.as_json())
        return [store.engine for store in found.stores], list(done)

    return call


def test_an_engine_is_measured_once(measure: Any, tmp_path: Path) -> None:
    edge, deep = "qdrant-edge", "qdrant-edge depth.dense=7"
    assert measure(edge) == ([edge], [edge])
    assert measure(*deep.split(), edge) == ([edge, deep], [deep])
    assert measure(edge, rerun=True) == ([edge, deep], [edge])
    (page,) = (tmp_path / "pages").glob("*.md")
    assert (
        "`assay engines bench qdrant-edge qdrant-edge depth.dense=7 --dataset" in page.read_text()
    )
    (facts,) = (tmp_path / "pages").glob("*.json")
    facts.write_text("{}")
    with pytest.raises(AssayError, match=r"\.json: cannot be read: .*remove it"):
        measure(edge)


def test_what_takes_too_long_is_left_out(measure: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(measurement, "PATIENCE", 0.0)
    measure("qdrant-edge")
    (page,) = (tmp_path / "pages").glob("*.md")
    assert "- qdrant-edge: dense, judged: " in page.read_text()
    assert "- qdrant-edge: hybrid, 8 callers: " in page.read_text()


def test_settings_stand_behind_their_engine() -> None:
    chosen = choose_engines(["sqlite", "k=7", "sqlite", "faiss"])
    assert [engine.label for engine in chosen] == ["sqlite k=7", "sqlite", "faiss"]
    with pytest.raises(AssayError, match="k=7: settings stand behind the ENGINE"):
        choose_engines(["k=7", "sqlite"])


def test_the_docs_have_the_figures_that_are_stored() -> None:
    stored = ROOT / "docs/engine_bench-scifact-100000.json"
    found = TypeAdapter(Benchmark).validate_json(stored.read_bytes())
    rows = {}
    whole: tuple[str, ...] = ()
    for row in list_rows(found):
        whole = row if row[0] else whole
        cells = [f"{whole[0]}, {row[1]}", *row[4:7], *whole[7:9]]
        rows[cells[0]] = [cell or "–" for cell in cells]
    page = (ROOT / "docs/servers.md").read_text()
    section = page.partition("| engine, list |")[2].partition("\n\n")[0]
    shown = [line.strip("| ").split(" | ") for line in section.splitlines()[2:]]
    assert {cells[0].partition(",")[0] for cells in shown} == {i.engine for i in found.stores}
    assert all(rows[cells[0]] == cells for cells in shown)
