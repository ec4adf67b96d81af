"""The settings of a pipeline: query steps, legs, fusion, stages, and which of them fit together."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from retrievers.documents.preparation import DocumentSettings
from retrievers.fusion import FusionSettings
from retrievers.legs.registry import LegSettings
from retrievers.query.registry import QuerySettings
from retrievers.query_cache import CacheSettings
from retrievers.settings import Settings, Workshop
from retrievers.stages.base import describe_order, find_disorder
from retrievers.stages.registry import StageSettings
from retrievers.stages.scale import find_unscaled

if TYPE_CHECKING:
    from retrievers.pipeline import Pipeline


class PipelineSettings(Settings):
    """Query steps, legs, their fusion, and the stages after it."""

    type: Literal["pipeline"] = "pipeline"
    mode: Literal["semantic", "keyword", "exact", "hybrid"] = Field(
        "hybrid", description="which legs search: hybrid: all; else those of one kind alone"
    )
    query: list[QuerySettings] = Field(
        default_factory=list, description="what happens to the query before any leg searches"
    )
    legs: dict[str, Annotated[LegSettings, Field(discriminator="type")]] = Field(
        min_length=1, description="the ranked lists that enter fusion, by a name of your choice"
    )
    fusion: Annotated[FusionSettings, Field(discriminator="type")] | None = Field(
        None, description="how several legs become one list; not allowed with a single leg"
    )
    stages: list[StageSettings] = Field(
        default_factory=list,
        description=f"what happens to the fused list; the order is fixed: {describe_order()}",
    )
    cache: CacheSettings | None = Field(
        None,
        description="where answers are kept until a document changes; never used to time searches",
    )

    @property
    def active(self) -> Mapping[str, LegSettings]:
        """The legs that the mode lets search."""
        if self.mode == "hybrid":
            return self.legs
        return {name: leg for name, leg in self.legs.items() if leg.kind == self.mode}

    @model_validator(mode="after")
    def _fits(self) -> "PipelineSettings":
        names = ", ".join(self.legs)
        if len(self.legs) > 1 and self.fusion is None:
            raise ValueError(f"fusion: missing; needed for more than one leg ({names})")
        if len(self.legs) == 1 and self.fusion is not None:
            raise ValueError(f"fusion: not allowed with the single leg {names}")
        if not self.active:
            kinds = {leg.kind for leg in self.legs.values()} - {"graph"}
            modes = ", ".join(sorted(kinds | {"hybrid"}))
            raise ValueError(f"mode: no leg is {self.mode}; allowed with these legs: {modes}")
        first, leg = next(iter(self.active.items()))
        if leg.kind == "graph":
            raise ValueError(
                f"legs.{first}: starts from what the legs before it find and so cannot come first; "
                "put it last"
            )
        if self.fusion:
            for key in ("weights", "boosts"):
                if unknown := getattr(self.fusion, key).keys() - self.legs.keys():
                    raise ValueError(f"fusion.{key}.{min(unknown)}: no such leg; allowed: {names}")
        if problem := find_disorder([stage.type for stage in self.stages]):
            raise ValueError(f"stages: {problem}")
        if problem := find_unscaled(self.stages, self.fusion, leg.kind):
            raise ValueError(f"stages: {problem}")
        return self

    def build(self, documents: DocumentSettings, workshop: Workshop) -> "Pipeline":
        """Return the retriever, not yet indexed."""
        from retrievers.pipeline import Pipeline

        return Pipeline(self, documents, workshop)
