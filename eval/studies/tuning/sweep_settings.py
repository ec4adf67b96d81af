"""The settings of a sweep's file: configs, the axes of varied settings, and collections."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from pydantic import Field, model_validator

from assay.eval.running.search_space import Axes, Point, unite
from assay.eval.scoring.measures import HEADLINE
from assay.retrievers.settings import Settings

V = TypeVar("V")

CONFIG = "config"  # the axis of configs, if there are several
ENGINE = "engine"  # the axis of engines to which configs move
EVERY = "*"  # the value for every engine that can be used here


class SweepSettings(Settings):
    """All that a sweep's YAML can say. Paths in it are from the folder of that file."""

    name: str = Field(
        "", pattern=r"^([A-Za-z0-9][\w.-]*)?$", description="names its report; the file's, if none"
    )
    description: str = Field("", description="what it is to show, in a sentence")
    base: str | None = Field(None, description="the config that is varied")
    configs: list[str] = Field(default_factory=list, description="instead of base: several configs")
    axes: Axes | list[Axes] = Field(
        default_factory=dict, description="one grid of values, or several to be united"
    )
    collections: list[str] = Field(
        default_factory=list,
        description="the collections to run them on, by name or path; if none, each config's own",
    )
    measure: str = Field(HEADLINE, description="the measure by which points are ordered")

    @model_validator(mode="after")
    def _has_one_kind_of_config(self) -> "SweepSettings":
        if bool(self.base) == bool(self.configs):
            raise ValueError("base, configs: give one of them")
        return self

    @property
    def paths(self) -> Sequence[str]:
        """The configs."""
        return [self.base] if self.base else self.configs

    @property
    def grids(self) -> Sequence[Axes]:
        """The grids of values."""
        return self.axes if isinstance(self.axes, list) else [self.axes]

    @property
    def points(self) -> list[Point]:
        """Every combination of the values."""
        return unite(self.grids)


def without_engine(values: Mapping[str, V]) -> dict[str, V]:
    """Return a point, or axes, without the engine, which is not a key of a config."""
    return {key: value for key, value in values.items() if key != ENGINE}
