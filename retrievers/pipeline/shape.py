"""The parts of a pipeline as YAML names them, and the rules for combining them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from assay.retrievers.base.suggestions import suggest
from assay.retrievers.fusion.fusion import FusionSettings
from assay.retrievers.legs.base import LegSettings
from assay.retrievers.legs.placement import PlacedLeg, place_legs
from assay.retrievers.legs.registry import AnyLeg
from assay.retrievers.pipeline.query_cache import CacheSettings
from assay.retrievers.query.registry import AnyQueryStep
from assay.retrievers.settings import Settings
from assay.retrievers.stages.base import describe_order, find_disorder
from assay.retrievers.stages.registry import AnyStage
from assay.retrievers.stages.scale import find_unscaled

TOLERANCE = 0.01  # of the sum of weights


class PipelineShape(Settings):
    """Query steps, legs, their fusion, and the stages after it, which must fit together."""

    type: Literal["pipeline"] = "pipeline"
    mode: Literal["semantic", "keyword", "exact", "hybrid"] = Field(
        "hybrid", description="which legs search: hybrid: all; else those of one kind alone"
    )
    query: list[AnyQueryStep] = Field(
        default_factory=list, description="what happens to the query before any leg searches"
    )
    legs: dict[str, AnyLeg] = Field(
        min_length=1, description="the ranked lists that enter fusion, by a name of your choice"
    )
    fusion: Annotated[FusionSettings, Field(discriminator="type")] | None = Field(
        None, description="how several legs become one list; not allowed with a single leg"
    )
    stages: list[AnyStage] = Field(
        default_factory=list,
        description=f"what happens to the fused list; the order is fixed: {describe_order()}",
    )
    cache: CacheSettings | None = Field(
        None,
        description="where answers are kept until a document changes; never used to time searches",
    )

    @field_validator("legs", mode="before", json_schema_input_type=dict[str, AnyLeg | PlacedLeg])
    @classmethod
    def _place_legs(cls, legs: Any) -> Any:
        return place_legs(legs)

    @property
    def active(self) -> Mapping[str, LegSettings]:
        """The legs that the mode lets search, and that fusion counts."""
        return {name: leg for name, leg in self._searching.items() if name not in self._uncounted}

    @property
    def _searching(self) -> Mapping[str, LegSettings]:
        """The legs of the mode."""
        if self.mode == "hybrid":
            return self.legs
        return {name: leg for name, leg in self.legs.items() if leg.kind == self.mode}

    @property
    def _uncounted(self) -> Sequence[str]:
        """The legs of the mode that have neither weight nor boost."""
        fusion = self.fusion
        return [name for name in self._searching if fusion and not fusion.counts(name)]

    def uses_server(self) -> bool:
        """Return True if any part asks a server in searches."""
        return any(map(_asks_server, (*self.query, *self.active.values(), *self.stages)))

    def doubt_weights(self) -> Sequence[str]:
        """Return warnings: legs of weight 0, and shares, one being below 1, that miss 1."""
        off = [
            f"fusion.weights.{name}: 0, so this leg is not asked and adds nothing"
            for name in self._uncounted
        ]
        if not self.fusion or self.mode != "hybrid":
            return off
        given = {name: weight for name, weight in self.fusion.weights.items() if weight}
        total = sum(given.get(name, 1.0) for name in self.active)
        if min(given.values(), default=1.0) >= 1 or abs(total - 1) <= TOLERANCE:
            return off
        missing = sorted(self.active.keys() - given.keys())
        without = f", that of {', '.join(missing)} being 1" if missing else ""
        return [
            *off,
            f"fusion.weights: they add up to {total:g}{without}, and shares of legs add up to 1; "
            "what is compared with the scores, as boosts and thresholds are, weighs differently",
        ]

    @model_validator(mode="after")
    def _fits(self) -> "PipelineShape":
        names = ", ".join(self.legs)
        if len(self.legs) > 1 and self.fusion is None:
            raise ValueError(f"fusion: missing; needed for more than one leg ({names})")
        if len(self.legs) == 1 and self.fusion is not None:
            raise ValueError(
                "Only one leg is left: remove the `fusion:` line, or set `fusion: null` where a "
                "base has it"
            )
        if not self._searching:
            kinds = {leg.kind for leg in self.legs.values()} - {"graph"}
            modes = ", ".join(sorted(kinds | {"hybrid"}))
            raise ValueError(f"mode: no leg is {self.mode}; allowed with these legs: {modes}")
        if not self.active:
            raise ValueError(
                f"fusion.weights: 0 for every leg of mode {self.mode} "
                f"({', '.join(self._searching)}), so that nothing could be found; give one of "
                "them a weight above 0"
            )
        first, leg = next(iter(self.active.items()))
        if leg.kind == "graph":
            raise ValueError(
                f"legs.{first}: starts from what the legs before it find and so cannot come first; "
                "put it last"
            )
        if self.fusion:
            for key in ("weights", "boosts"):
                if unknown := getattr(self.fusion, key).keys() - self.legs.keys():
                    near = suggest(min(unknown), self.legs)
                    raise ValueError(
                        f"fusion.{key}.{min(unknown)}: no such leg; allowed: {names}{near}"
                    )
        if problem := find_disorder([stage.type for stage in self.stages]):
            raise ValueError(f"stages: {problem}")
        searching = {name: leg.kind for name, leg in self.active.items()}
        ranking = next((step.type for step in self.query if step.ranks_alone), "")
        if problem := find_unscaled(self.stages, self.fusion, searching, ranking):
            raise ValueError(f"stages: {problem}")
        if ranking and self.fusion and self.fusion.by_scores:
            raise ValueError(
                f"fusion: theoretical normalisation and confidence need the legs' own scores;"
                f" {ranking} leaves ranks alone"
            )
        for i, step in enumerate(self.query):
            if problem := step.find_misfit(self.active):
                raise ValueError(f"query.{i}: {step.type}: {problem}")
        return self


def _asks_server(part: Any) -> bool:
    """Return True if these settings, or any within them, are of a part that asks a server."""
    if isinstance(part, Settings):
        engine = getattr(part, "capabilities", None)
        if part.asks_server or (engine and engine.server):
            return True
        part = dict(part)
    return isinstance(part, Mapping) and any(map(_asks_server, part.values()))
