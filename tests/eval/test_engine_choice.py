"""`--engine NAME`: which legs move, and what they keep."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from eval.experiments.config import load_config
from eval.experiments.engine_choice import choose_engine
from eval.experiments.engine_settings import list_engines
from eval.runs.environment import PACKAGES
from retrievers.base import AssayError
from retrievers.engines.formulas import ReciprocalRanks
from retrievers.engines.providers import STRATEGIES
from retrievers.engines.registry import TYPES
from retrievers.settings import Workshop
from retrievers.store.cache import Cache

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "configs"
ADDRESSED = [engine for engine in list_engines() if engine.settings.capabilities.server]


def legs_of(values: dict[str, Any]) -> Any:
    return values["retriever"]["legs"]


@pytest.mark.parametrize("engine", sorted(TYPES))
def test_a_native_leg_moves_with_the_defaults_of_the_other_engine(engine: str) -> None:
    config = load_config(CONFIGS / "native_hybrid.yaml", engine=engine).model_dump()
    leg = legs_of(config)["native"]
    assert leg["type"] == "native_hybrid"
    assert leg["engine"]["type"] == engine
    assert (leg["encoder"]["model"], leg["depth"]) == ("bge-small-en-v1.5", 100)
    assert config["name"] == f"native_hybrid-{engine}"


def test_a_dense_leg_moves_where_there_is_no_native_one() -> None:
    """The fallback: the store is searched by vectors, and fused here with our keyword leg."""
    values = {
        "name": "mine",
        "retriever": {
            "legs": {
                "meaning": {"type": "dense", "encoder": "all-MiniLM-L6-v2", "depth": 40},
                "words": {"type": "bm25"},
            },
            "fusion": {"type": "rrf"},
        },
    }
    choose_engine(values, "sqlite")
    assert legs_of(values)["meaning"] == {
        "type": "engine_dense",
        "engine": {"type": "sqlite"},
        "encoder": "all-MiniLM-L6-v2",
        "depth": 40,
    }
    assert legs_of(values)["words"] == {"type": "bm25"}


def test_beside_a_native_leg_a_dense_one_stays() -> None:
    legs = {"all": {"type": "native_hybrid", "engine": {"type": "qdrant-edge", "k": 2}}}
    values = {"name": "mine", "retriever": {"legs": {**legs, "dense": {"type": "dense"}}}}
    choose_engine(values, "duckdb")
    assert legs_of(values)["all"]["engine"] == {"type": "duckdb"}
    assert legs_of(values)["dense"] == {"type": "dense"}


def test_overrides_come_after_the_choice() -> None:
    overrides = ("retriever.legs.native.engine.k=5", "name=other")
    config = load_config(CONFIGS / "native_hybrid.yaml", overrides, "sqlite").model_dump()
    assert legs_of(config)["native"]["engine"]["k"] == 5
    assert config["name"] == "other"


@pytest.mark.parametrize("provider", [name for name in STRATEGIES if name not in TYPES])
def test_a_store_without_an_adapter_says_so_in_one_line(provider: str) -> None:
    with pytest.raises(AssayError) as caught:
        load_config(CONFIGS / "native_hybrid.yaml", engine=provider)
    line = str(caught.value)
    assert line.startswith(f"engine {provider}: {provider} ")
    assert "\n" not in line


def test_nothing_that_can_move() -> None:
    with pytest.raises(AssayError, match=r"--engine sqlite: no leg can .*: keyword \(bm25\)"):
        load_config(CONFIGS / "bm25.yaml", engine="sqlite")
    with pytest.raises(AssayError, match=r"there are: none"):
        load_config(ROOT / "examples" / "word_overlap.yaml", engine="sqlite")
    with pytest.raises(AssayError, match=r"engine sqlight: no such engine; allowed: duckdb,"):
        load_config(CONFIGS / "native_hybrid.yaml", engine="sqlight")


@pytest.mark.parametrize("engine", list_engines(), ids=lambda engine: engine.type)
def test_engines_are_comparable_by_default(engine: Any, tmp_path: Path) -> None:
    """Reciprocal ranks with what is k = 60 and ranks from 1; Weaviate's are from 0, always."""
    formula = engine.build(Workshop(Cache(tmp_path))).formula
    dense = [(at, 1 - 0.1 * at) for at in range(5)]
    keyword = [(4 - at, 9.0 - at) for at in range(4)]
    origin = ReciprocalRanks(60, 0 if engine.type == "weaviate" else 1)
    expected, fused = dict(origin.fuse(dense, keyword)), dict(formula.fuse(dense, keyword))
    ratios = [fused[at] / expected[at] for at in expected]
    assert fused.keys() == expected.keys()
    assert max(ratios) == pytest.approx(min(ratios), rel=1e-5)
    assert (engine.settings.depth.dense, engine.settings.depth.keyword) == (100, 100)


@pytest.mark.parametrize("engine", ADDRESSED, ids=lambda engine: engine.type)
def test_the_variable_of_a_server_is_the_one_that_it_reads(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = engine.settings.capabilities.address
    monkeypatch.setenv(variable, "http://me:s3cret@host")
    with pytest.raises(AssayError, match=variable) as caught, engine.settings.server() as server:
        server.list_stored()
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("engine", list_engines(), ids=lambda engine: engine.type)
def test_what_an_engine_needs_is_brought_by_its_extra_and_told_by_the_manifest(engine: Any) -> None:
    can = engine.settings.capabilities
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = project["optional-dependencies"][can.extra] if can.extra else project["dependencies"]
    names = {canonicalize_name(Requirement(needed).name) for needed in extra}
    assert names >= {canonicalize_name(package) for package in can.packages}
    assert can.packages[0] in PACKAGES
    assert bool(can.extra) is bool(can.modules)
