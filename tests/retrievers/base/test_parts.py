"""Parts plugged in: named in configs, checked, written and read again, told apart by their code."""

import sys
from collections.abc import Mapping

import pytest
import yaml
from pydantic import ValidationError

from assay.eval.collections.loading import load
from assay.eval.configs.components import list_components
from assay.eval.configs.config import RunConfig, load_config, make_schema
from assay.eval.configs.engine_settings import list_types, read_engine
from assay.eval.studies.ablation.variants import list_parts
from assay.retrievers.base import AssayError
from assay.retrievers.documents.preparation import prepare
from assay.retrievers.foreign.python_class import PythonSettings
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.pipeline.variants import Variants
from assay.retrievers.settings import Resources
from assay.retrievers.settings.parts import find_sources
from assay.retrievers.store.cache import Cache, default_root
from examples.heading_leg import HeadingSettings


def python(path, **settings):
    return {"type": "python", "class": f"examples.{path}", **settings}


HASHING = python("hashing_encoder:HashingSettings")
PYTHON = {
    "documents": {"chunker": python("paragraph_chunker:ParagraphChunker")},
    "retriever": {
        "query": [python("abbreviation_step:AbbreviationSettings", words={"eta": "arrival"})],
        "legs": {
            "headings": python("heading_leg:HeadingSettings"),
            "hashed": {"type": "dense", "encoder": HASHING},
            "stored": {
                "type": "native_hybrid",
                "encoder": HASHING,
                "engine": python("memory_engine:MemorySettings"),
            },
        },
        "fusion": {"type": "rrf"},
        "stages": [
            python("minimum_stage:MinimumSettings", words=3),
            {"type": "rerank", "model": python("overlap_cross_encoder:OverlapSettings")},
        ],
    },
}
KEYS = {
    "documents.chunker", "retriever.query.0", "retriever.legs.headings",
    "retriever.legs.hashed.encoder", "retriever.legs.stored.encoder",
    "retriever.legs.stored.engine", "retriever.stages.0", "retriever.stages.1.model",
}  # fmt: skip
ENTRY_POINTS = {
    "legs": "heading_leg:HeadingSettings",
    "stages": "minimum_stage:MinimumSettings",
    "query_steps": "abbreviation_step:AbbreviationSettings",
    "encoders": "hashing_encoder:HashingSettings",
    "cross_encoders": "overlap_cross_encoder:OverlapSettings",
    "chunkers": "paragraph_chunker:ParagraphChunker",
    "engines": "memory_engine:MemorySettings",
}


def rename(value):
    """Return settings in which each class is named as a package offers it."""
    if isinstance(value, Mapping):
        named = {key: rename(item) for key, item in value.items() if key != "class"}
        return {**named, "type": "mine"} if "class" in value else named
    return [rename(item) for item in value] if isinstance(value, list) else value


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package that offers the examples, each by the name `mine`."""
    metadata = tmp_path / "mine-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    lines = [f"[assay.{kind}]\nmine = examples.{path}\n" for kind, path in ENTRY_POINTS.items()]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)


@pytest.fixture
def resources():
    return Resources(Cache(default_root()))


def write(folder, **values):
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump({"name": "mine", "dataset": "harbourline", **values}))
    return path


def leg(values):
    return {"retriever": {"legs": {"mine": dict(values)}}}


def check_pipeline(config, resources):
    """Search with the parts, built alone and sharing, and read them again as they are written."""
    assert set(find_sources(config)) == KEYS
    assert RunConfig.model_validate(config.model_dump(mode="json")) == config
    collection = load(config.dataset)
    with config.build(resources) as alone, Variants(resources) as variants:
        shared = variants.build(config)
        for retriever in (alone, shared):
            retriever.index(collection.documents)
        assert set(alone.metadata()["sources"]) == KEYS
        assert not alone.nondeterministic
        found = 0
        for query in collection.queries[:5]:
            ranking = alone.search(query.text, 5)
            assert ranking.hits == shared.search(query.text, 5).hits
            assert {"headings", "hashed", "stored"} <= {entry.name for entry in ranking.trace}
            found += len(ranking.hits)
        assert found > 10


@pytest.fixture(autouse=True)
def trusted(monkeypatch):
    """The configs here lie outside the project."""
    monkeypatch.setenv("ASSAY_TRUST", "1")


@pytest.mark.parametrize("values", [PYTHON, rename(PYTHON)], ids=["path", "installed name"])
def test_parts_search(values, tmp_path, installed, resources):
    check_pipeline(load_config(write(tmp_path, **values)), resources)


def test_installed_parts_are_listed(installed):
    listed = {component.key for component in list_components() if component.name == "mine"}
    assert len(listed) == len(ENTRY_POINTS)
    assert list_types()[-1] == "mine"
    assert read_engine("mine").settings.capabilities.fuses == "client"
    (pipeline,) = [
        definition
        for name, definition in make_schema()["$defs"].items()
        if name == "PipelineSettings"
    ]
    legs, dropped = pipeline["properties"]["legs"]["additionalProperties"]["anyOf"]
    assert dropped["type"] == "null"
    *named, placed = legs["anyOf"][1:]
    assert [item["properties"]["type"]["const"] for item in named] == ["python", "mine"]
    assert placed == {"$ref": "#/$defs/PlacedLeg"}, "whatever a leg is, it may name its engine"


def test_settings_made_in_python_are_written_so_that_they_can_be_read():
    pipeline = PipelineSettings(legs={"mine": HeadingSettings(depth=7)})
    values = pipeline.model_dump(mode="json")
    assert values["legs"]["mine"] == {
        "type": "python", "depth": 7, "class": "examples.heading_leg:HeadingSettings",
    }  # fmt: skip
    assert PipelineSettings.model_validate(values) == pipeline
    parts = list_parts(values, pipeline.active)
    assert [(part.name, part.type) for part in parts] == [("mine", "python")]


HEADINGS = python("heading_leg:HeadingSettings")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (leg({"type": "python"}), "retriever.legs.mine.class: missing"),
        (leg({**HEADINGS, "class": "os:system"}), "class: os:system: a builtin_function_or_method"),
        (
            leg({**HEADINGS, "class": "examples.minimum_stage:MinimumSettings"}),
            "no subclass of assay.retrievers.legs.base.LegSettings",
        ),
        (leg({**HEADINGS, "depth": 0}), "legs.mine.depth: input should be greater than or equal"),
        (leg({**HEADINGS, "deep": 1}), "legs.mine.deep: unknown key; allowed: type, depth, class"),
        (leg({"type": "nix"}), "legs.mine.type: 'nix' is not one of: 'dense', "),
        (leg({"type": "nix"}), "'engine_keyword', 'python', 'mine'"),
        (leg({"type": "dense", "encoder": {"type": "nix"}}), "'jina', 'python', 'mine'"),
        (leg({"type": "native_hybrid", "engine": {"type": "nix"}}), "'python', 'mine'"),
        ({"documents": {"chunker": {"type": "nix"}}}, "documents.chunker.type: 'nix' is not one"),
    ],
)  # fmt: skip
def test_what_is_no_part_is_told(tmp_path, installed, values, problem):
    path = write(tmp_path, **{**leg({"type": "bm25"}), **values})
    with pytest.raises(AssayError) as told:
        load_config(path)
    assert problem in str(told.value)
    assert str(told.value).startswith(f"{path}: ")
    assert "\n" not in str(told.value)


CHUNKER = """
from assay.retrievers.documents.chunkers.base import Chunker, Piece
class Whole(Chunker):
    def split(self, structure, tokens):
        yield Piece(structure.frontmatter.end, len(structure.text))
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "my_chunker.py"
    sys.modules.pop("my_chunker", None)


def test_chunks_of_other_code_are_cut_anew(module, resources):
    documents = load("harbourline").documents[:2]
    cached = Resources(Cache(module.parent / "cache"))
    for name in ("tokenizers", "models"):
        if (resources.cache.root / name).is_dir():
            (cached.cache.root / name).symlink_to(resources.cache.root / name)
    fresh = []
    for text in (CHUNKER, CHUNKER, CHUNKER + "# changed\n"):
        module.write_text(text)
        sys.modules.pop("my_chunker", None)
        chunker = {"chunker": {"type": "python", "class": "my_chunker:Whole"}}
        values = {"name": "x", "documents": chunker, **leg({"type": "bm25"})}
        config = RunConfig.model_validate(values)
        fresh.append(len(prepare(documents, config.documents, cached).cut.seconds))
    assert fresh == [2, 0, 2]


def test_a_retrievers_class_is_checked_before_it_is_called(tmp_path):
    flag = tmp_path / "flag"
    settings = {"type": "python", "arguments": {"command": f"touch {flag}"}}
    for path, problem in (("os:system", "no class"), ("subprocess:Popen", "no subclass of")):
        for key in ("path", "class"):
            config = RunConfig.model_validate({"name": "x", "retriever": {**settings, key: path}})
            assert isinstance(config.retriever, PythonSettings)
            with pytest.raises(AssayError, match=problem):
                config.build(Resources(Cache(tmp_path)))
    assert not flag.exists()
    with pytest.raises(ValidationError, match=r"must be package\.module:name"):
        RunConfig.model_validate({"name": "x", "retriever": {"type": "python", "path": "a.B"}})
    wrong = {"type": "python", "class": "examples.word_overlap:WordOverlap", "arguments": {"a": 1}}
    with pytest.raises(AssayError, match=r"retriever\.arguments: examples\.word_overlap"):
        RunConfig.model_validate({"name": "x", "retriever": wrong}).build(
            Resources(Cache(tmp_path))
        )
