"""All that a config can name, one line each, with the extra each needs."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, get_args

from pydantic import BaseModel

from eval.experiments.config import RunConfig
from retrievers.documents.contexts import SOURCES
from retrievers.documents.preparation import DocumentSettings
from retrievers.legs.keyword import KeywordLegSettings
from retrievers.legs.native import NativeHybridSettings
from retrievers.models.pins import PINNED
from retrievers.recipe import PipelineSettings


@dataclass(frozen=True, slots=True)
class Component:
    """One thing a config can name, in one line; `extra` is what it needs and is not installed."""

    key: str
    name: str
    summary: str
    extra: str = ""


def list_components() -> Iterator[Component]:
    """Yield the components in the order in which a config names them."""
    yield from _types("documents.chunker", DocumentSettings, "chunker")
    for name, summary in SOURCES.items():
        yield Component("documents.context.source", name, summary)
    yield from _types("retriever", RunConfig, "retriever")
    yield from _types("retriever.query.*", PipelineSettings, "query")
    yield from _types("retriever.legs.*", PipelineSettings, "legs")
    yield from _types("retriever.legs.*.analyzer", KeywordLegSettings, "analyzer")
    yield from _types("retriever.legs.*.engine", NativeHybridSettings, "engine")
    yield from _models("retriever.legs.*.encoder", "encoder")
    yield from _types("retriever.fusion", PipelineSettings, "fusion")
    yield from _types("retriever.stages.*", PipelineSettings, "stages")
    yield from _models("retriever.stages.*.model", "cross-encoder")


def _types(key: str, model: type[BaseModel], field: str) -> Iterator[Component]:
    """Yield the alternatives of a field whose settings are told apart by `type`."""
    for settings in _settings(model.model_fields[field].annotation):
        name = get_args(settings.model_fields["type"].annotation)[0]
        summary = (settings.__doc__ or "").strip().partition("\n\n")[0]
        yield Component(key, name, " ".join(summary.split()))


def _settings(kind: Any) -> Iterator[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for inner in get_args(kind):
        yield from _settings(inner)


def _models(key: str, kind: str) -> Iterator[Component]:
    """Yield the pinned models of a kind, then what else may stand there."""
    missing = "" if find_spec("sentence_transformers") else "st"
    for pin in PINNED:
        if pin.kind == kind:
            summary = f"{pin.backend}: {pin.build}, {pin.licence}"
            yield Component(key, pin.name, summary, missing if pin.backend == "st" else "")
    yield Component(key, "a folder", "onnx: one that holds model.onnx and tokenizer.json")
    yield Component(
        key, "a hub id or folder", "st: any model that sentence-transformers loads", missing
    )
