"""`assay components`: all that a config can name."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, get_args

import click

from eval.cli import options
from eval.cli.output import print_json

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Component:
    """One thing a config can name, in one line; `extra` is what it needs and is not installed."""

    key: str
    name: str
    summary: str
    extra: str = ""


@click.command()
@options.JSON
def components(as_json: bool) -> None:
    """List all that a config can name, one line each, with the extra each needs."""
    found = list(list_components())
    if as_json:
        print_json({"components": [asdict(component) for component in found]})
        return
    key = ""
    for component in found:
        if component.key != key:
            key = component.key
            click.secho(key, bold=True)
        needs = f"  [needs the extra `{component.extra}`]" if component.extra else ""
        click.echo(f"  {component.name:<24} {component.summary}{needs}")


def list_components() -> Iterator[Component]:
    """Yield the components in the order in which a config names them."""
    from eval.experiments.config import RunConfig
    from retrievers.documents.contexts import SOURCES
    from retrievers.documents.preparation import DocumentSettings
    from retrievers.legs.keyword import KeywordLegSettings
    from retrievers.legs.native import NativeHybridSettings
    from retrievers.recipe import PipelineSettings

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


def _types(key: str, model: "type[BaseModel]", field: str) -> Iterator[Component]:
    """Yield the alternatives of a field whose settings are told apart by `type`."""
    for settings in _settings(model.model_fields[field].annotation):
        name = get_args(settings.model_fields["type"].annotation)[0]
        summary = (settings.__doc__ or "").strip().partition("\n\n")[0]
        yield Component(key, name, " ".join(summary.split()))


def _settings(kind: Any) -> "Iterator[type[BaseModel]]":
    from pydantic import BaseModel

    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for inner in get_args(kind):
        yield from _settings(inner)


def _models(key: str, kind: str) -> Iterator[Component]:
    """Yield the pinned models of a kind, then what else may stand there."""
    from importlib.util import find_spec

    from retrievers.models.pins import PINNED

    missing = "" if find_spec("sentence_transformers") else "st"
    for pin in PINNED:
        if pin.kind == kind:
            summary = f"{pin.backend}: {pin.build}, {pin.licence}"
            yield Component(key, pin.name, summary, missing if pin.backend == "st" else "")
    yield Component(key, "a folder", "onnx: one that holds model.onnx and tokenizer.json")
    yield Component(
        key, "a hub id or folder", "st: any model that sentence-transformers loads", missing
    )
