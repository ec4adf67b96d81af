"""All that a config can name, in the order of a config's keys."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from assay.eval.configs.config import RunConfig
from assay.eval.configs.named_configs import NO_PIPELINES
from assay.eval.shipped import find_shipped
from assay.retrievers.base.yaml_text import parse_yaml
from assay.retrievers.documents.contexts import SOURCES
from assay.retrievers.documents.preparation import DocumentSettings
from assay.retrievers.legs.keyword import KeywordLegSettings
from assay.retrievers.legs.native import NativeHybridSettings
from assay.retrievers.model_files.pins import list_pinned
from assay.retrievers.models.registry import CROSS_ENCODERS, ENCODERS
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.settings import name_type
from assay.retrievers.settings.errors import list_tags
from assay.retrievers.settings.parts import PYTHON, Part, find_part, list_classes, name_class
from assay.retrievers.stages.rerank import RerankSettings


@dataclass(frozen=True, slots=True)
class Component:
    """One thing a config can name, in one line; `extra` is what it needs and is not installed."""

    key: str
    name: str
    summary: str
    extra: str = ""


def list_components() -> Iterator[Component]:
    """Yield the components in the order in which a config names them."""
    yield from _list_bases()
    yield from _types("documents.converter", DocumentSettings, "converter")
    yield from _types("documents.chunker", DocumentSettings, "chunker")
    for name, summary in SOURCES.items():
        yield Component("documents.context.source", name, summary)
    yield from _types("retriever", RunConfig, "retriever")
    yield from _types("retriever.query.*", PipelineSettings, "query")
    yield from _types("retriever.legs.*", PipelineSettings, "legs")
    yield from _types("retriever.legs.*.analyzer", KeywordLegSettings, "analyzer")
    yield from _types("retriever.legs.*.engine", NativeHybridSettings, "engine")
    yield from _models("retriever.legs.*.encoder", "encoder")
    yield from _served("retriever.legs.*.encoder", ENCODERS)
    yield from _plugged("retriever.legs.*.encoder", NativeHybridSettings.model_fields["encoder"])
    yield from _types("retriever.fusion", PipelineSettings, "fusion")
    yield from _types("retriever.stages.*", PipelineSettings, "stages")
    yield from _models("retriever.stages.*.model", "cross-encoder")
    yield from _served("retriever.stages.*.model", CROSS_ENCODERS)
    yield from _plugged("retriever.stages.*.model", RerankSettings.model_fields["model"])


def _list_bases() -> Iterator[Component]:
    """Yield the configs that come with Assay, each with its base."""
    for path in sorted(find_shipped("configs").glob("*.yaml")):
        if path.stem not in NO_PIPELINES:
            given = parse_yaml(path.read_text("utf-8"), str(path))
            above = f"; builds on {Path(given['base']).stem}" if "base" in given else ""
            yield Component("base", path.stem, f"{given['description']}{above}")


def _types(key: str, model: type[BaseModel], field: str) -> Iterator[Component]:
    """Yield the alternatives of a field whose settings are distinguished by `type`."""
    info = model.model_fields[field]
    for settings in list_classes(Annotated[(info.annotation, *info.metadata, None)]):
        for name in list_tags(settings):
            yield Component(key, name, _summarise(settings))
    yield from _plugged(key, info)


def _served(key: str, part: Part[Any]) -> Iterator[Component]:
    """Yield the services that may be given in place of a model's name."""
    for settings in part.types.values():
        yield Component(key, f"{{type: {name_type(settings)}}}", _summarise(settings))


def _plugged(key: str, info: FieldInfo) -> Iterator[Component]:
    """Yield the form of a user's own part, and the parts that installed packages offer."""
    inner = (get_args(info.annotation) or (None,))[-1]
    part = find_part([*info.metadata, *getattr(inner, "__metadata__", ())])
    if part is None:
        return
    summary = f"`class: package.module:Class`, a subclass of {name_class(part.base)}"
    yield Component(key, PYTHON, summary)
    for name, settings in part.list_installed():
        yield Component(key, name, _summarise(settings))


def _summarise(settings: type[BaseModel]) -> str:
    return " ".join((settings.__doc__ or "").strip().partition("\n\n")[0].split())


def _models(key: str, kind: str) -> Iterator[Component]:
    """Yield the pinned models of a kind, then the alternatives to them."""
    missing = "" if find_spec("sentence_transformers") else "st"
    for pin in list_pinned():
        if pin.kind == kind:
            summary = f"{pin.backend}: {pin.build}, {pin.licence}"
            yield Component(key, pin.name, summary, missing if pin.backend == "st" else "")
    yield Component(key, "a folder", "onnx: one that holds model.onnx and tokenizer.json")
    yield Component(
        key, "a hub id or folder", "st: any model that sentence-transformers loads", missing
    )
