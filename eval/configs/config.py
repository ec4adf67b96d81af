"""Configs as files: YAML with a `base`, overrides from the command line, one strict model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from assay.eval.configs.engine_choice import check_keys, choose_engine
from assay.eval.configs.held_out import check_open
from assay.eval.configs.locations import default_dataset, find_project
from assay.eval.configs.named_configs import find_base, find_config, split_engine
from assay.eval.configs.overrides import apply_override, drop_nulls, merge
from assay.eval.runs.latency import LatencySettings
from assay.eval.scoring import measures
from assay.eval.scoring.standard import MOST
from assay.retrievers.base import AssayError
from assay.retrievers.pipeline.config import PipelineConfig
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.settings import explain_errors
from assay.retrievers.settings.files import parse_mapping, read_mapping, read_text
from assay.retrievers.settings.trust import list_asked

DEPTH = 100


class RunConfig(PipelineConfig):
    """All that a pipeline's YAML can say."""

    dataset: str = Field(
        default_factory=default_dataset,
        description="a collection of datasets/, NAME or NAME:JUDGMENTS, or the path of its folder; "
        "where none is named, $ASSAY_DATASET or the one that comes with the project",
    )
    depth: int = Field(
        DEPTH,
        ge=1,
        description="hits kept per query; where it is not given, as many as the deepest measure "
        "looks at, and so does the leg of a pipeline that is this one leg",
    )
    limit: int | None = Field(
        None, ge=1, description="search only so many queries, evenly spaced: a quick look"
    )
    measures: list[str] = Field(
        list(measures.DEFAULT),
        min_length=1,
        description="what is reported: Hit@5, nDCG@10; ir-measures' names too; none that looks at "
        "more hits than are kept",
    )
    latency: LatencySettings = Field(
        default_factory=LatencySettings, description="how latency is measured"
    )


def load_config(
    config: str | Path, overrides: Sequence[str] = (), engine: str | None = None
) -> RunConfig:
    """Read a config by its path or name, with its bases, and apply `key.path=value` overrides.

    Before these, its legs move to `engine`, or to that of CONFIG@ENGINE: see
    `assay.eval.configs.engine_choice`. Raises AssayError naming the file, the key, what is
    wrong and what is allowed.
    """
    named, own = split_engine(config)
    if own is not None and engine is not None:
        raise AssayError(f"{config}: names an engine already, so that {engine} has no place")
    path = find_config(named)
    return make_config(_read_with_bases(path, ()), overrides, str(path), engine=engine or own)


def make_config(
    values: dict[str, Any],
    overrides: Sequence[str],
    source: str,
    options: Mapping[str, Any] | None = None,
    engine: str | None = None,
) -> RunConfig:
    """Return the config of `values`, which came from `source`, with `key.path=value` overrides.

    A `base` among them is a name, or a path from the working directory; before overrides the legs
    move to `engine`; `options` are keys that hold before all others. Raises AssayError as
    `load_config` does.
    """
    if isinstance(base := values.get("base"), str):
        own = {key: value for key, value in values.items() if key != "base"}
        values = merge(_read_with_bases(find_config(base, source), ()), own)
    if "measures" not in values and (project := find_project()) and project.measures:
        values = {**values, "measures": project.measures}
    if engine is not None:
        choose_engine(values, engine)
    for override in overrides:
        apply_override(values, override, RunConfig)
    if engine is not None:
        check_keys(values, engine)
    values = drop_nulls(values, RunConfig) | (options or {})
    try:
        config = RunConfig.model_validate(values)
    except ValidationError as error:
        source = f"{source} with overrides" if overrides else source
        lines = explain_errors(error, RunConfig, values)
        raise AssayError("\n".join(f"{source}: {line}" for line in lines)) from None
    try:
        check_open(config.dataset)
        return _reach(config, values)
    except AssayError as error:
        raise AssayError(f"{source}: {error}") from None


def _reach(config: RunConfig, values: Mapping[str, Any]) -> RunConfig:
    """Return `config` with measures by the names shown, and with a depth that they look at.

    Raises AssayError for one that looks at more hits than are kept, or than legs return.
    """
    named = measures.check_ranking(config.measures)
    pipeline = config.retriever if isinstance(config.retriever, PipelineSettings) else None
    listed = max(leg.depth for leg in pipeline.active.values()) if pipeline else MOST
    if "measures" not in values:
        named = measures.list_within(named, min(config.depth, listed))
    depth = measures.choose_depth(named, config.depth, config.depth if "depth" in values else None)
    update: dict[str, Any] = {"measures": named, "depth": depth}
    wanted = measures.find_reach(named)
    if pipeline and wanted > listed:
        keys = [f"retriever.legs.{name}.depth={wanted}" for name in pipeline.active]
        if len(keys) > 1 or pipeline.stages:
            raise AssayError(
                f"measures: {measures.find_deepest(named)} looks at {wanted:,} hits, and no leg "
                f"hands on more than {listed:,}; allowed: up to @{listed}, or {' '.join(keys)}"
            )
        # The first hits of a single list are the same, however many follow.
        ((name, leg),) = pipeline.active.items()
        legs = {**pipeline.legs, name: leg.model_copy(update={"depth": wanted})}
        update["retriever"] = pipeline.model_copy(update={"legs": legs})
    return config.model_copy(update=update)


def make_schema() -> dict[str, Any]:
    """Return the JSON Schema of a config file, `base` and partial configs included."""
    schema = RunConfig.model_json_schema()
    schema["properties"]["base"] = {
        "type": "string",
        "description": "a config whose keys hold where this one has none: its path from this file, "
        "or its name",
    }
    # Keys that are missing here may be in the base, and null removes those of the base.
    schema.pop("required", None)
    for model in (schema, *schema["$defs"].values()):
        for field in model.get("properties", {}).values():
            if isinstance(named := field.get("additionalProperties"), dict):
                field["additionalProperties"] = {"anyOf": [named, {"type": "null"}]}
    return schema


def _read_with_bases(path: Path, above: tuple[Path, ...]) -> dict[str, Any]:
    """Return the mapping in `path`, merged over that of its `base`."""
    if path.resolve() in above:
        raise AssayError(f"{path}: base: the files form a circle")
    values = read_mapping(path, config=True)
    above = (*above, path.resolve())
    base = _pop_base(values, path, above)
    return merge(_read_with_bases(base, above), values) if base else values


def list_trusted(config: str | Path) -> list[str]:
    """Return the requests of a config and its bases that need trust, a line each, with the file.

    Nothing that they name is imported, sent or read. Raises AssayError if one is no mapping.
    """
    told: list[str] = []
    above: tuple[Path, ...] = ()
    following: Path | None = find_config(split_engine(config)[0])
    while following and following.resolve() not in above:
        values = parse_mapping(read_text(following, config=True), str(following))
        above = (*above, following.resolve())
        told += [f"{following}: {asked}" for asked in list_asked(values)]
        following = _pop_base(values, following, above)
    return told


def _pop_base(values: dict[str, Any], path: Path, above: tuple[Path, ...]) -> Path | None:
    base = values.pop("base", None)
    if base is None:
        return None
    if isinstance(base, str):
        return find_base(base, path, above)
    raise AssayError(f"{path}: base: must be the path of a YAML file or the name of a config")
