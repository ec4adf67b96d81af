"""Configs as files: YAML with a `base`, overrides from the command line, one strict model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, Field, ValidationError

from eval.experiments.engine_choice import choose_engine
from eval.experiments.locations import default_dataset
from eval.experiments.overrides import apply_override, merge
from eval.runs.latency import LatencySettings
from eval.scoring import measures
from retrievers.base import AssayError
from retrievers.config import PipelineConfig
from retrievers.settings.parts import Part, find_part


class RunConfig(PipelineConfig):
    """All that a pipeline's YAML can say."""

    dataset: str = Field(
        default_factory=default_dataset,
        description="a collection of datasets/, NAME or NAME:JUDGMENTS, or the path of its folder; "
        "where none is named, $ASSAY_DATASET or the one that comes with the project",
    )
    depth: int = Field(100, ge=1, description="hits kept per query")
    limit: int | None = Field(
        None, ge=1, description="search only so many queries, evenly spaced: a quick look"
    )
    measures: list[str] = Field(
        list(measures.DEFAULT), min_length=1, description="what is reported, by ir-measures' names"
    )
    latency: LatencySettings = Field(
        default_factory=LatencySettings, description="how latency is measured"
    )


class _Loader(yaml.SafeLoader):
    """YAML that refuses a key given twice."""


def _construct_mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen = set()
    for key, _ in node.value:
        if key.value in seen:
            line = key.start_mark.line + 1
            raise AssayError(f"{loader.name}: line {line}: the key {key.value!r} stands twice")
        seen.add(key.value)
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)


def load_config(path: Path, overrides: Sequence[str] = (), engine: str | None = None) -> RunConfig:
    """Read the config at `path`, with its bases, and apply `key.path=value` overrides.

    Before these, its legs move to `engine`: see `eval.experiments.engine_choice`. Raises AssayError
    naming the file, the key, what is wrong and what is allowed.
    """
    values = _read_with_bases(path, ())
    if engine is not None:
        choose_engine(values, engine)
    for override in overrides:
        apply_override(values, override)
    try:
        config = RunConfig.model_validate(values)
    except ValidationError as error:
        source = f"{path} with overrides" if overrides else str(path)
        lines = [_explain(source, values, item) for item in error.errors()]
        raise AssayError("\n".join(lines)) from None
    try:
        measures.check_names(config.measures)
    except AssayError as error:
        raise AssayError(f"{path}: {error}") from None
    return config


def make_schema() -> dict[str, Any]:
    """Return the JSON Schema of a config file, `base` and partial configs included."""
    schema = RunConfig.model_json_schema()
    schema["properties"]["base"] = {
        "type": "string",
        "description": "a YAML file beside this one, whose keys hold where this one has none",
    }
    # What is missing here may stand in the base.
    schema.pop("required", None)
    return schema


def _read_with_bases(path: Path, above: tuple[Path, ...]) -> dict[str, Any]:
    """Return the mapping in `path`, merged over that of its `base`."""
    if path.resolve() in above:
        raise AssayError(f"{path}: base: the files form a circle")
    values = read_mapping(path)
    base = values.pop("base", None)
    if base is None:
        return values
    if not isinstance(base, str):
        raise AssayError(f"{path}: base: must be the path of a YAML file beside this one")
    return merge(_read_with_bases(path.parent / base, (*above, path.resolve())), values)


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a YAML file that holds a mapping. Raises AssayError, also when a key stands twice."""
    try:
        with path.open(encoding="utf-8") as file:
            loader = _Loader(file)
            loader.name = str(path)
            values = loader.get_single_data()
    except FileNotFoundError:
        names = ", ".join(sorted(str(other) for other in path.parent.glob("*.yaml"))) or "none"
        raise AssayError(f"{path}: no such config; there are: {names}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise AssayError(f"{path}: cannot be read: {error}") from None
    except yaml.YAMLError as error:
        raise AssayError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise AssayError(f"{path}: must be a mapping of keys to values")
    return values


def _explain(source: str, values: Mapping[str, Any], error: Any) -> str:
    """Return one line for one of Pydantic's errors: the key, what is wrong, what is allowed."""
    keys, model = _locate(values, error)
    key = ".".join(keys)
    message = error["msg"].removeprefix("Value error, ")
    given = repr(error["input"])
    if error["type"] == "extra_forbidden":
        message = f"unknown key; allowed: {', '.join(model.model_fields)}"
    elif error["type"] == "missing":
        message = "missing"
    elif error["type"] == "union_tag_invalid":
        key += ".type"
        message = f"{error['ctx']['tag']!r} is not one of: {error['ctx']['expected_tags']}"
    elif error["type"] == "union_tag_not_found":
        message = "must be a mapping with the key `type`"
    elif key and given not in message and not isinstance(error["input"], Mapping):
        message = f"{message[0].lower()}{message[1:]}, not {given}"
    return f"{source}: {key}: {message}" if key else f"{source}: {message}"


def _locate(values: Any, error: Any) -> tuple[list[str], type[BaseModel]]:
    """Return an error's keys, without the tags of unions, and the model that holds the last."""
    keys: list[str] = []
    kind: Any = RunConfig
    model: type[BaseModel] = RunConfig
    for number, part in enumerate(error["loc"], start=1):
        kind = _choose(kind, values)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            model = kind
        absent = number == len(error["loc"]) and error["type"] == "missing"
        if isinstance(values, Mapping) and part not in values and not absent:
            continue  # the tag of a union, not a key
        keys.append(str(part))
        if isinstance(values, Mapping):
            values = values.get(part)
        elif isinstance(values, list) and isinstance(part, int):
            values = values[part]
        kind = _descend(kind, part)
    return keys, model


def _choose(kind: Any, value: Any) -> Any:
    """Return the member of a union that `value` names by its `type`; other kinds as they are."""
    while get_origin(kind) is Annotated:
        inner, *metadata = get_args(kind)
        part = find_part(metadata)
        if part and (found := _find_plugged(part, value)):
            return found
        kind = part.own if part else inner
    if get_origin(kind) not in (Union, UnionType):
        return kind
    members = [_choose(member, value) for member in get_args(kind)]
    models = [item for item in members if isinstance(item, type) and issubclass(item, BaseModel)]
    tag = value.get("type") if isinstance(value, Mapping) else None
    named = [item for item in models if tag in get_args(_annotation(item, "type"))]
    return next(iter(named or models or members))


def _find_plugged(part: Part, value: Any) -> type[BaseModel] | None:
    try:
        return part.find(value)
    except ValueError:  # it is this that is explained
        return None


def _descend(kind: Any, part: Any) -> Any:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return _annotation(kind, str(part))
    arguments = get_args(kind)
    return arguments[-1] if get_origin(kind) in (dict, list) else None


def _annotation(model: type[BaseModel], name: str) -> Any:
    """Return the type of a field with its metadata, which may say what else stands there."""
    field = model.model_fields.get(name)
    if field is None or not field.metadata:
        return field and field.annotation
    return Annotated[(field.annotation, *field.metadata)]
