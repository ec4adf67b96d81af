"""Configs: bases, overrides, and lines that say what is wrong."""

import json
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tools.processes import pipelines

from assay.eval.configs.config import RunConfig, load_config, make_schema
from assay.retrievers.base import AssayError

CONFIGS = Path(__file__).parents[3] / "configs"
PAGE = (CONFIGS.parent / "docs/pipelines.md").read_text()


@pytest.mark.parametrize("path", pipelines(), ids=lambda path: path.stem)
def test_shipped_configs_are_short_and_named_as_their_files(path):
    assert load_config(path).name == path.stem
    lines = path.read_text().splitlines()
    assert len(lines) < 50
    assert lines[0] == "# yaml-language-server: $schema=schema.json"


def test_the_schema_beside_the_configs_is_current():
    stored = json.loads((CONFIGS / "schema.json").read_text())
    assert stored == make_schema(), "run: assay config schema > configs/schema.json"


@pytest.mark.parametrize("text", re.findall(r"^```yaml\n(base: \w+\n.*?)^```$", PAGE, re.M | re.S))
def test_the_configs_of_the_page_are_read(text, tmp_path):
    (tmp_path / "written.yaml").write_text(text)
    assert load_config(tmp_path / "written.yaml").retriever


def test_bases_merge_and_a_changed_type_replaces(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        f"base: {CONFIGS / 'hybrid_rrf.yaml'}\nname: mine\n"
        "retriever: {fusion: {type: linear}, legs: {keyword: {k1: 0.9}}}\n"
    )
    config = load_config(path)
    legs, fusion = config.retriever.legs, config.retriever.fusion
    assert legs["keyword"].k1 == 0.9
    assert legs["keyword"].depth == 100
    assert fusion.type == "linear"
    assert fusion.weights == {}


def test_null_takes_a_leg_of_a_base_out(tmp_path):
    path, base = tmp_path / "mine.yaml", CONFIGS / "hybrid_rrf.yaml"
    path.write_text(f"base: {base}\nretriever: {{legs: {{dense: null}}, fusion: null}}\n")
    assert list(load_config(path).retriever.legs) == ["keyword"]
    taken_out = ["retriever.legs.dense=null", "retriever.fusion=null"]
    assert load_config(base, taken_out).retriever == load_config(path).retriever
    path.write_text(f"base: {base}\nretriever: {{fusion: {{weights: {{keyword: null}}}}}}\n")
    assert load_config(path).retriever.fusion.weights == {"dense": 1.0}
    path.write_text(f"base: {base}\nretriever: {{legs: {{dense: null}}}}\n")
    with pytest.raises(AssayError, match="Only one leg is left: remove the `fusion:` line"):
        load_config(path)


def list_leaves(values, path=""):
    pairs = values.items() if isinstance(values, dict) else enumerate(values or ())
    found = []
    for key, value in pairs:
        name = f"{path}.{key}".lstrip(".")
        found += list_leaves(value, name) if isinstance(value, dict | list) else [(name, value)]
    return found


@pytest.mark.parametrize("path", pipelines(), ids=lambda path: path.stem)
def test_every_key_that_is_shown_can_be_set_alone(path):
    config = load_config(path)
    for key, value in list_leaves(config.model_dump(mode="json")):
        assert load_config(path, [f"{key}={json.dumps(value)}"]) == config, key


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("retriever.stages.1.depth=5", "no position in a list of 1"),
        ("retriever.stages.0.depth.x=5", "single value"),
        ("name.x=5", "single value"),
        ("=5", "key.path=value"),
        ("name={", "not YAML"),
        ("retriever.legs.keyword={}", "type"),
        ("retriever.fusion.weights.sparse=1", "no such leg; allowed: dense, keyword"),
        ("retriever.stages.0.depht=5", "retriever.stages.0.depht: unknown key; allowed: type"),
        ("retriever.stages.0.depht=5", "did you mean depth?"),
        ("retriever.legs.keyword.type=bm52", "did you mean bm25?"),
        ("limit=2024-02-30", "limit=2024-02-30: line 1: not YAML"),
        ("limit=&a [*a]", "*a stands within itself"),
        ("measures={a: 1, a: 2}", "the key 'a' stands twice"),
        ("name=a b", "name"),
    ],
)
def test_what_is_wrong(text, words):
    with pytest.raises(AssayError) as caught:
        load_config(CONFIGS / "reranked.yaml", [text])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_broken_key_has_its_line():
    with pytest.raises(AssayError) as caught:
        load_config(CONFIGS / "bm25.yaml", ["dephts=1", "retriever.legs.keyword.b=2"])
    assert len(str(caught.value).splitlines()) == 2


@given(st.sampled_from(pipelines()))
def test_a_resolved_config_resolves_to_itself(path):
    values = load_config(path).model_dump(mode="json")
    again = RunConfig.model_validate(yaml.safe_load(yaml.safe_dump(values)))
    assert again.model_dump(mode="json") == values
