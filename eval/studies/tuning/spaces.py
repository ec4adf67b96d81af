"""The space of settings to search: from a file, from keys and values, or made for a config."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from assay.eval.configs.config import RunConfig, load_config
from assay.eval.running.search_space import Axes, Point, as_overrides, describe, parse_axis, unite
from assay.eval.runs.config_keys import shorten
from assay.retrievers.base import AssayError
from assay.retrievers.documents.chunkers import StructureChunker
from assay.retrievers.fusion.fusion import Fusion
from assay.retrievers.legs.base import LegSettings
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.settings import Settings, validate
from assay.retrievers.settings.files import read_mapping
from assay.retrievers.stages.base import StageSettings

CONTEXTS = ("none", "headings", "opening+headings", "auto")
CHUNK_TOKENS = 400  # half of the default size, and within the window of small encoders
WEIGHTS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)


class SpaceFile(Settings):
    """A file of values to try: one grid, or several to be united."""

    description: str = ""
    axes: Axes | list[Axes] = Field(description="one grid of values, or several to be united")


@dataclass(frozen=True)
class Space:
    """Grids of values by dotted key, and their source in words."""

    grids: Sequence[Mapping[str, Sequence[Any]]]
    source: str
    # Its part in the name of a file; "" for the space made for the config.
    label: str = ""

    @property
    def points(self) -> list[Point]:
        """Every point of every grid."""
        return unite(self.grids)

    def lines(self) -> list[str]:
        """Return a line for each key of each grid, with its values."""
        return [
            f"{key}: {', '.join(map(describe, values))}"
            for grid in self.grids
            for key, values in grid.items()
        ]


def read_space(path: Path) -> Space:
    """Read the space in the file at `path`. Raises AssayError naming the key and the problem."""
    axes = validate(SpaceFile, read_mapping(path), str(path)).axes
    return Space(axes if isinstance(axes, list) else [axes], str(path), path.stem)


def parse_space(axes: Sequence[str]) -> Space:
    """Parse texts such as `key=v1,v2,v3` to a space of all combinations."""
    grid = dict(map(parse_axis, axes))
    return Space([grid], "--over", "-".join(shorten(grid).values()))


def derive_space(config: RunConfig) -> Space:
    """Return the space that fits the kinds of legs, fusion and stages of `config`.

    With fusion: its constant or its normalisation, and the weight of every leg but the last,
    because only ratios count. With a single BM25 leg: k1, b and variant. With reranking: its depth.
    Without stages also contexts and smaller chunks, each with every fusion; with stages not,
    because stages may read each text with a model.
    """
    retriever = config.retriever
    grids: list[dict[str, Sequence[Any]]] = []
    if isinstance(retriever, PipelineSettings):
        (name, leg), *others = retriever.active.items()
        fusion = _fusion_axes(retriever)
        axes = dict(fusion)
        if not others:
            axes |= _axes(f"retriever.legs.{name}", leg)
        for number, stage in enumerate(retriever.stages):
            axes |= _axes(f"retriever.stages.{number}", stage)
        grids = [axes] if axes else []
        if not retriever.stages:
            grids += [{**fusion, **item} for item in _document_axes(config)]
    if not grids:
        raise AssayError(
            f"{config.name}: nothing to tune by default: no fusion, BM25 or reranking; "
            "name keys and values by --over or --space"
        )
    return Space(grids, "made for this config")


def resolve_points(
    path: str | Path, overrides: Sequence[str], points: Sequence[Point], config: RunConfig
) -> list[RunConfig]:
    """Return the config of each point: `config`, loaded from `path` with `overrides`, changed.

    Raises AssayError for the first point that is no valid config.
    """
    values = config.model_dump(mode="json")
    return [load_config(path, [*overrides, *as_overrides(point, values)]) for point in points]


def _document_axes(config: RunConfig) -> Iterator[dict[str, Sequence[Any]]]:
    """Yield the axis of other contexts, then the axis of smaller chunks."""
    own = config.documents.context.source
    yield {"documents.context.source": [source for source in CONTEXTS if source != own]}
    chunker = config.documents.chunker
    if isinstance(chunker, StructureChunker) and chunker.max_tokens > CHUNK_TOKENS:
        yield {"documents.chunker.max_tokens": [CHUNK_TOKENS]}


def _fusion_axes(retriever: PipelineSettings) -> dict[str, Sequence[Any]]:
    fusion = retriever.fusion
    if fusion is None:
        return {}
    axes = _axes("retriever.fusion", fusion)
    weighted = [name for name in retriever.active if name not in fusion.boosts]
    return axes | {f"retriever.fusion.weights.{name}": WEIGHTS for name in weighted[:-1]}


def _axes(key: str, part: LegSettings | StageSettings | Fusion) -> dict[str, Sequence[Any]]:
    """Return the tunable settings of a part of the pipeline, by dotted key below `key`.

    Values that its other settings rule out are left out.
    """
    return {
        f"{key}.{name}": [value for value in values if _can_have(part, name, value)]
        for name, values in part.tunable.items()
    }


def _can_have(part: Settings, name: str, value: Any) -> bool:
    try:
        validate(type(part), {**part.model_dump(), name: value}, "")
    except AssayError:
        return False
    return True
