"""`--engine NAME`: which legs move, and what they keep."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from assay.eval.configs.config import load_config
from assay.eval.configs.engine_choice import choose_engine
from assay.eval.configs.engine_settings import choose_engines, list_engines, read_engine
from assay.eval.configs.named_configs import add_engines, is_config, split_engine
from assay.eval.running.experiment import make_experiment
from assay.eval.running.study_options import PipelineOptions
from assay.eval.runs.environment import PACKAGES
from assay.eval.studies.tuning.sweep_running import list_tasks, read_sweep
from assay.retrievers.base import AssayError, Quiet
from assay.retrievers.engines.formulas import ReciprocalRanks
from assay.retrievers.engines.providers import STRATEGIES
from assay.retrievers.engines.registry import TYPES
from assay.retrievers.settings import Resources
from assay.retrievers.store.cache import Cache

ROOT = Path(__file__).parents[3]
CONFIGS = ROOT / "configs"
ADDRESSED = [engine for engine in list_engines() if engine.settings.capabilities.server]


def legs_of(values):
    return values["retriever"]["legs"]


FUSING = [e for e in list_engines() if "hybrid" in e.settings.capabilities.searches]
NAMES = [engine.type for engine in FUSING]


@pytest.mark.parametrize("engine", NAMES)
def test_a_native_leg_moves_with_the_defaults_of_the_other_engine(engine):
    config = load_config(CONFIGS / "native_hybrid.yaml", engine=engine).model_dump()
    leg = legs_of(config)["native"]
    assert leg["type"] == "native_hybrid"
    assert leg["engine"]["type"] == engine
    assert (leg["encoder"]["model"], leg["depth"]) == ("bge-small-en-v1.5", 100)
    assert config["name"] == f"native_hybrid-{engine}"


def test_a_config_is_named_with_its_engine():
    named = load_config("hybrid_rrf@sqlite")
    assert named == load_config("hybrid_rrf", engine="sqlite")
    assert named == load_config(f"{CONFIGS / 'hybrid_rrf.yaml'}@sqlite")
    with pytest.raises(AssayError, match=r"hybrid_rrf@sqlite: names an engine already"):
        load_config("hybrid_rrf@sqlite", engine="lancedb")
    with pytest.raises(AssayError, match=r"engine : no such engine"):
        load_config("hybrid_rrf@")
    made = make_experiment("hybrid_rrf@sqlite", ["depth=7"], None, {}, Quiet())
    assert made.plan.name == "hybrid_rrf-sqlite"
    assert made.plan.config["retriever"] == named.model_dump(mode="json")["retriever"]


def test_a_name_and_its_engine_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "me@home").mkdir()
    (tmp_path / "me@home" / "mine.yaml").write_text("base: bm25\nname: mine\n")
    (tmp_path / "run@sqlite").mkdir()
    assert load_config("me@home/mine.yaml").name == "mine"
    assert split_engine("me@home/mine.yaml@sqlite") == ("me@home/mine.yaml", "sqlite")
    assert split_engine("run@sqlite") == ("run@sqlite", None)
    assert not is_config("run@sqlite")
    given = ["hybrid_rrf", "native_hybrid@postgres", "some-run"]
    assert add_engines(given, ["sqlite", "lancedb"]) == [
        "hybrid_rrf@sqlite", "hybrid_rrf@lancedb", "native_hybrid@postgres", "some-run",
    ]  # fmt: skip
    assert add_engines(given, []) == given
    with pytest.raises(AssayError, match=r"engine sqlite: an engine goes with a config that"):
        add_engines(given[1:], ["sqlite"])
    chosen = choose_engines(["sqlite", "k=7", "sqlite", "faiss"])
    assert [engine.label for engine in chosen] == ["sqlite k=7", "sqlite", "faiss"]
    with pytest.raises(AssayError, match="k=7: settings stand behind the ENGINE"):
        choose_engines(["k=7", "sqlite"])


def sweep_over(folder, engines, base="hybrid_rrf"):
    path = folder / "sweep.yaml"
    path.write_text(f"base: {base}\naxes: {{engine: {engines}, retriever.fusion.k: [10, 60]}}\n")
    return list_tasks(path, read_sweep(path), [])


def test_engines_are_an_axis_of_a_sweep(tmp_path):
    tasks = sweep_over(tmp_path, "[sqlite, null]")
    assert [(task.point["engine"], task.config.name) for task in tasks] == [
        ("sqlite", "hybrid_rrf-sqlite"), ("sqlite", "hybrid_rrf-sqlite"),
        (None, "hybrid_rrf"), (None, "hybrid_rrf"),
    ]  # fmt: skip
    first = load_config("hybrid_rrf@sqlite", ["retriever.fusion.k=10"])
    assert tasks[0].config == first
    replaced = read_sweep(tmp_path / "sweep.yaml", ["lancedb"])
    again = list_tasks(tmp_path / "sweep.yaml", replaced, [])
    assert [task.config.name for task in again] == ["hybrid_rrf-lancedb"] * 2
    with pytest.raises(AssayError, match=r"sweep\.yaml: axes\.engine: 3 is no engine; allowed: "):
        sweep_over(tmp_path, "[3]")
    with pytest.raises(AssayError, match=r"sweep\.yaml: engine sqlight: no such engine"):
        sweep_over(tmp_path, "[sqlight]")


def test_every_engine_is_each_that_can_be_used_here(tmp_path, monkeypatch):
    for engine in ADDRESSED:
        monkeypatch.delenv(engine.settings.capabilities.address, raising=False)
    embedded = {task.point["engine"] for task in sweep_over(tmp_path, "['*']")}
    assert "qdrant-edge" in embedded
    assert not embedded & {"qdrant", "weaviate", "opensearch"}
    if read_engine("qdrant").settings.capabilities.installed:
        monkeypatch.setenv("QDRANT_URL", "http://127.0.0.1:9")
        assert "qdrant" in {task.point["engine"] for task in sweep_over(tmp_path, "['*']")}


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("quantisation: int8, rescore: 50", "quantisation, rescore"),
        ("dimensions: 64", "dimensions"),
    ],
)
def test_keys_that_an_engine_has_no_place_for_are_named(keys, told, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(f"base: hybrid_rrf\nretriever: {{legs: {{dense: {{{keys}}}}}}}\n")
    says = rf"^engine sqlite: retriever\.legs\.dense: not allowed in an engine: {told}; allowed: "
    with pytest.raises(AssayError, match=says) as caught:
        load_config(path, engine="sqlite")
    assert "\n" not in str(caught.value)
    with pytest.raises(AssayError, match=rf"engine \S+: retriever.*: {told}; allowed: "):
        sweep_over(tmp_path, "['*']", str(path))


def test_the_option_leaves_it_to_the_config_to_be_found(tmp_path, monkeypatch):
    def name(config, engine):
        ((reference,), changes) = PipelineOptions(config=config, engine=engine).choose(None)
        return load_config(reference, changes).name

    monkeypatch.chdir(tmp_path)
    Path("plain").write_text("base: hybrid_rrf\nname: mine\n")
    assert name("plain", "sqlite") == "mine-sqlite"
    assert name("hybrid_rrf", "sqlite") == "hybrid_rrf-sqlite"
    with pytest.raises(AssayError, match=r"did you mean hybrid_rrf\?"):
        name("hybrid_rff", "sqlite")
    with pytest.raises(AssayError, match="an engine goes with a config that names none"):
        name("hybrid_rrf@sqlite", "lancedb")


@pytest.mark.parametrize("provider", [name for name in STRATEGIES if name not in TYPES])
def test_a_store_without_an_adapter_says_so_in_one_line(provider):
    with pytest.raises(AssayError) as caught:
        load_config(CONFIGS / "native_hybrid.yaml", engine=provider)
    line = str(caught.value)
    assert line.startswith(f"engine {provider}: {provider} ")
    assert "\n" not in line


@pytest.mark.parametrize("engine", ["faiss", "chroma"])
def test_a_store_of_vectors_alone_takes_the_dense_leg(engine):
    config = load_config(CONFIGS / "hybrid_rrf.yaml", engine=engine).model_dump()
    legs = legs_of(config)
    assert (legs["dense"]["type"], legs["dense"]["engine"]["type"]) == ("engine_dense", engine)
    assert legs["keyword"]["type"] == "bm25"
    assert config["name"] == f"hybrid_rrf-{engine}"


@pytest.mark.parametrize("engine", ["chroma", "faiss"])
def test_an_engine_that_does_not_fuse_says_what_does(engine):
    way_out = f"{engine} has no hybrid search of its own: `assay run hybrid --engine {engine}`"
    told = f"^engine {engine}: {way_out} fuses its dense"
    with pytest.raises(AssayError, match=told) as caught:
        load_config(CONFIGS / "native_hybrid.yaml", engine=engine)
    assert "\n" not in str(caught.value)
    override = f"retriever.legs.native.engine={{type: {engine}}}"
    with pytest.raises(AssayError, match=rf"retriever\.legs\.native.*: {way_out}") as caught:
        load_config(CONFIGS / "native_hybrid.yaml", [override])
    assert "\n" not in str(caught.value)


def test_what_cannot_move_says_why(tmp_path):
    with pytest.raises(AssayError, match=r"^engine chromadb: chromadb is called chroma here"):
        load_config(CONFIGS / "hybrid_rrf.yaml", engine="chromadb")
    with pytest.raises(AssayError, match=r"engine sqlite: no leg can .*: keyword \(bm25\)"):
        load_config(CONFIGS / "bm25.yaml", engine="sqlite")
    with pytest.raises(AssayError, match=r"there are: none"):
        load_config(ROOT / "examples" / "word_overlap.yaml", engine="sqlite")
    with pytest.raises(
        AssayError, match=r"engine sqlight: no such engine; allowed: azure-ai-search,"
    ):
        load_config(CONFIGS / "native_hybrid.yaml", engine="sqlight")
    path = tmp_path / "sweep.yaml"
    path.write_text(f"base: {ROOT / 'examples' / 'word_overlap.yaml'}\naxes: {{engine: ['*']}}\n")
    with pytest.raises(AssayError, match=r"axes\.engine: '\*': .*word_overlap.* can move to no"):
        list_tasks(path, read_sweep(path), [])


@pytest.mark.slow
@pytest.mark.parametrize("engine", FUSING, ids=NAMES)
def test_engines_are_comparable_by_default(engine, tmp_path):
    """Reciprocal ranks with what is k = 60 and ranks from 1; Weaviate's are from 0, always."""
    formula = engine.build(Resources(Cache(tmp_path))).formula
    dense = [(i, 1 - 0.1 * i) for i in range(5)]
    keyword = [(4 - i, 9.0 - i) for i in range(4)]
    origin = ReciprocalRanks(60, 0 if engine.type == "weaviate" else 1)
    expected, fused = dict(origin.fuse(dense, keyword)), dict(formula.fuse(dense, keyword))
    # Azure Cosmos DB ranks a text in both lists, last in the one that lacks it.
    both = {i for i, _ in dense} & {i for i, _ in keyword}
    ratios = [fused[i] / expected[i] for i in both]
    assert fused.keys() == expected.keys()
    assert max(ratios) == pytest.approx(min(ratios), rel=1e-5)
    # Azure AI Search fuses 1000 of the keyword list, always.
    deep = 1000 if engine.type == "azure-ai-search" else 100
    assert (engine.settings.depth.dense, engine.settings.depth.keyword) == (100, deep)


@pytest.mark.parametrize("engine", ADDRESSED, ids=lambda engine: engine.type)
def test_the_variable_of_a_server_is_the_one_that_it_reads(engine, monkeypatch):
    variable = engine.settings.capabilities.address
    monkeypatch.setenv(variable, "http://me:s3cret@host")
    with pytest.raises(AssayError, match=variable) as caught, engine.settings.server() as server:
        server.list_stored()
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("engine", list_engines(), ids=lambda engine: engine.type)
def test_what_an_engine_needs_is_brought_by_its_extra_and_told_by_the_manifest(engine):
    can = engine.settings.capabilities
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = project["optional-dependencies"][can.extra] if can.extra else project["dependencies"]
    names = {canonicalize_name(Requirement(needed).name) for needed in extra}
    assert names >= {canonicalize_name(package) for package in can.packages}
    assert can.packages[0] in PACKAGES
    assert bool(can.extra) is bool(can.modules)


def test_a_dense_leg_moves_where_there_is_no_native_one():
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


def test_beside_a_native_leg_a_dense_one_stays():
    legs = {"all": {"type": "native_hybrid", "engine": {"type": "qdrant-edge", "k": 2}}}
    values = {"name": "mine", "retriever": {"legs": {**legs, "dense": {"type": "dense"}}}}
    choose_engine(values, "lancedb")
    assert legs_of(values)["all"]["engine"] == {"type": "lancedb"}
    assert legs_of(values)["dense"] == {"type": "dense"}


def test_overrides_come_after_the_choice():
    overrides = ("retriever.legs.native.engine.k=5", "name=other")
    config = load_config(CONFIGS / "native_hybrid.yaml", overrides, "sqlite").model_dump()
    assert legs_of(config)["native"]["engine"]["k"] == 5
    assert config["name"] == "other"
