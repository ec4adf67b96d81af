"""What every kind of measurement says, those that score queries, and those that time searches."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field, model_validator

from assay.eval.scoring.measures import find
from assay.eval.studies.targets.verdict import Levels, Limits
from assay.retrievers.settings import Settings

LARGEST = 1e9  # milliseconds of eleven days
COMPLEMENT = "1-"  # before a measure: what is missing from 1, as in 1-Recall@20


class BaseMeasurement(Settings):
    """What every measurement says. Without a limit it is shown and gets no verdict."""

    largest: ClassVar[float] = LARGEST
    experimental: ClassVar[bool] = False  # whether measurements of the kind always do

    label: str = Field("", description="what tells it from the target's other measurements")
    at_least: float | None = Field(None, description="lower limit")
    more_than: float | None = Field(None, description="lower limit, itself excluded")
    at_most: float | None = Field(None, description="upper limit")
    less_than: float | None = Field(None, description="upper limit, itself excluded")
    alert: float | None = Field(None, description="a value beyond this one is an alert")
    page: float | None = Field(None, description="a value beyond this one calls someone at once")
    pipeline: str = Field(min_length=1, description="what is measured")
    dataset: str = Field(min_length=1, description="the collection, NAME or NAME:JUDGMENTS")

    @model_validator(mode="after")
    def _one_limit_a_side(self) -> "BaseMeasurement":
        if self.at_least is not None and self.more_than is not None:
            raise ValueError("more_than: not allowed beside at_least")
        if self.at_most is not None and self.less_than is not None:
            raise ValueError("less_than: not allowed beside at_most")
        return self

    @model_validator(mode="after")
    def _levels_lie_beyond_the_limit(self) -> "BaseMeasurement":
        given = [(name, value) for name, value in self.levels.items() if value is not None]
        limits = [value for _, value in self.limits.items() if value is not None]
        if given and len(limits) != 1:
            raise ValueError(f"{given[0][0]}: needs one limit that it lies beyond, as at_most")
        order = limits + [value for _, value in given]
        if given and order != sorted(order, reverse=not self.levels.rising):
            side = "above" if self.levels.rising else "below"
            raise ValueError(f"{given[-1][0]}: must lie {side} the limit, and page beyond alert")
        return self

    @property
    def levels(self) -> Levels:
        """What lies beyond the limit: above an upper one, below a lower one."""
        rising = self.at_least is None and self.more_than is None
        return Levels(self.alert, self.page, rising)

    @property
    def limits(self) -> Limits:
        """The limits; false where there are none."""
        return Limits(self.at_least, self.more_than, self.at_most, self.less_than)

    @property
    def pipelines(self) -> Mapping[str, str]:
        """The pipelines it names, by key."""
        base: str = getattr(self, "base", "")
        return ({"base": base} if base else {}) | {"pipeline": self.pipeline}

    @property
    def experiment(self) -> bool:
        """Whether it needs more than stored runs."""
        return self.experimental

    def describe(self) -> str:
        """Return what is measured, in a line."""
        raise NotImplementedError


class ScoredMeasurement(BaseMeasurement):
    """A measurement that scores queries."""

    measure: str = Field(description=f"its name; `{COMPLEMENT}` before it: what is missing from 1")
    query_types: list[str] = Field(
        default_factory=list, description="only the queries of these types; none named: all"
    )

    @property
    def shown(self) -> str:
        """The name of the measure as sentences have it. Raises AssayError where there is none."""
        name = find(self.measure.removeprefix(COMPLEMENT)).name
        return f"1 − {name}" if self.measure.startswith(COMPLEMENT) else name

    @property
    def place(self) -> str:
        """The collection and the types of query."""
        types = f" ({', '.join(self.query_types)})" if self.query_types else ""
        return f"{self.dataset}{types}"


class TimedMeasurement(BaseMeasurement):
    """A measurement of milliseconds."""

    percentile: float = Field(95, gt=0, lt=100, description="which percentile over the queries")
