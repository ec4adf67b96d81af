"""Engines of one list: held against what they state, told as what they are."""

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from samples.parity import make_bench

from assay.eval.cli import parity_output
from assay.eval.configs.engine_settings import list_features, read_engine
from assay.eval.studies.stores.engines import page as engines
from assay.eval.studies.stores.engines.page import EngineFacts
from assay.eval.studies.stores.parity import fusion_runs as fusions
from assay.eval.studies.stores.parity import page as parity
from assay.eval.studies.stores.parity.record import parity_metrics
from assay.eval.studies.stores.parity.results import Parity
from assay.eval.studies.stores.parity.running import ParityOutcome
from assay.eval.studies.stores.parity.sweep import examine
from assay.eval.studies.stores.recall.running import list_variants, run_sweep
from assay.retrievers.base import AssayError, Quiet
from assay.retrievers.engines.base import Engine
from assay.retrievers.fusion.ranking import Scored
from assay.retrievers.models.base import Vectors
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

LONE = ("faiss", "chroma")


def look(type_: str, folder: Path, *overrides: str, wrap: Any = lambda engine: engine) -> Parity:
    configured = read_engine(type_, overrides)
    with closing(wrap(configured.build(Resources(Cache(folder))))) as engine:
        return examine(make_bench(), configured, engine, Quiet())


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Parity]:
    for module in ("faiss", "chromadb"):
        pytest.importorskip(module)
    return {type_: look(type_, tmp_path_factory.mktemp(type_)) for type_ in LONE}


def test_each_returns_what_it_states(found: dict[str, Parity]) -> None:
    for type_ in LONE:
        parity_ = found[type_]
        assert parity_.verdict in ("identical", "identical but for ties")
        assert (list(parity_.quality.means), parity_.quality.differences) == (["dense"], ())
        assert parity_.timing is not None
        assert (list(parity_.timing.systems), parity_.timing.ratios) == (["dense"], {})
    assert found["chroma"].recall[100].value == 1  # of so few texts
    assert not found["faiss"].recall
    assert {type_: item.meaning["exact"] for type_, item in found.items()} == {
        "faiss": True, "chroma": False,
    }  # fmt: skip


def add_to_scores(engine: Engine) -> Engine:
    """Let its dense search give higher scores."""
    search = engine.dense

    def lie(vector: Vectors, limit: int) -> list[Scored]:
        return [(i, score + 0.01) for i, score in search(vector, limit)]

    engine.dense = lie  # type: ignore[method-assign]
    return engine


def test_other_scores_than_stated_are_different(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    lying = look("faiss", tmp_path, wrap=add_to_scores)
    assert lying.verdict == "different"
    assert lying.examples
    assert "None of the alternatives" in parity.describe_verdict(lying)


def test_texts_that_a_graph_misses_are_explained(tmp_path: Path) -> None:
    pytest.importorskip("faiss")

    def blind(engine: Engine) -> Engine:
        search = engine.dense
        engine.dense = lambda vector, limit: search(vector, limit + 1)[1:]  # type: ignore[method-assign]
        return engine

    missing = look("faiss", tmp_path, "index.type=hnsw", wrap=blind)
    assert missing.verdict.startswith("explained: approximate search (the same scores")


def test_a_list_that_holds_a_text_twice_is_the_engines_fault(tmp_path: Path) -> None:
    pytest.importorskip("faiss")

    def repeat(engine: Engine) -> Engine:
        search = engine.dense
        engine.dense = lambda vector, limit: [  # type: ignore[method-assign]
            *(found := search(vector, limit - 1)), found[-1],
        ]  # fmt: skip
        return engine

    with pytest.raises(AssayError, match=r"faiss: query q1: .* stands twice in the returned list"):
        look("faiss", tmp_path, wrap=repeat)


def test_pages_and_metrics_have_the_one_list(
    found: dict[str, Parity], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for item in found.values():
        page = parity.write(item, tmp_path).read_text()
        assert "Native minus ours" not in page
        assert "its one list of every query" in page
        assert not [name for name, _ in parity_metrics(item) if "native" in name]
    page, facts = engines.write(
        list(found.values()), [], EngineFacts(list_features(), {}), tmp_path
    )
    text = page.read_text()
    assert text == engines.render(json.loads(facts.read_text()))
    assert re.search(r"chroma on \S+: dense recall@100 1\.000", text)
    assert "| nowhere in the engine | exact |" in text
    parity_output.print_all(ParityOutcome(tuple(found.values()), (), {}, {}, ()))
    shown = capsys.readouterr().out
    assert "dense list alone" in shown
    assert "native minus ours" not in shown


def test_what_fuses_nothing_offers_no_fusion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines_ = [read_engine(type_) for type_ in ("qdrant-edge", *LONE)]
    monkeypatch.setattr(fusions, "list_fusions", lambda: engines_)
    offers = list(fusions.list_offers(Resources(Cache(tmp_path))))
    assert [offer.configured.type for offer in offers] == ["qdrant-edge"]


def test_recall_of_what_is_never_exact_has_no_exact_point(tmp_path: Path) -> None:
    pytest.importorskip("chromadb")
    variants = list_variants(read_engine("chroma"), "ef", [1, 64])
    assert [item.label for item in variants] == ["ef 1", "ef 64"]
    curve = run_sweep(make_bench(), "ef", variants, "", Resources(Cache(tmp_path)))
    assert [point.exact for point in curve.points] == [False, False]
