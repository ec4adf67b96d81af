"""The kinds of measurement that a target can name, and the keys of each."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from eval.scoring.measures import find
from eval.targets.verdict import Levels, Limits
from retrievers.settings import Settings

LARGEST = 1e9  # milliseconds of eleven days
COMPLEMENT = "1-"  # before a measure: what is missing from 1, as in 1-Recall@20


class _Measurement(Settings):
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
    def _one_limit_a_side(self) -> "_Measurement":
        if self.at_least is not None and self.more_than is not None:
            raise ValueError("more_than: not allowed beside at_least")
        if self.at_most is not None and self.less_than is not None:
            raise ValueError("less_than: not allowed beside at_most")
        return self

    @model_validator(mode="after")
    def _levels_lie_beyond_the_limit(self) -> "_Measurement":
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


class _Scored(_Measurement):
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


class Score(_Scored):
    """The mean of a measure.

    `census` says that the queries are all there are of their kind, not a sample of them: their
    mean is then exact.
    """

    type: Literal["score"]
    census: bool = Field(False, description="the queries are all of their kind, not a sample")

    def describe(self) -> str:
        """Return what is measured, in a line."""
        return f"{self.shown} of {self.pipeline} on {self.place}"


class Change(_Scored):
    """The paired change of the mean of a measure from one pipeline to another."""

    type: Literal["change"]
    base: str = Field(min_length=1, description="what it is held against")
    relative: bool = Field(True, description="as a share of the base's mean")

    def describe(self) -> str:
        """Return what is measured, in a line."""
        kind = "relative change" if self.relative else "change"
        return f"{kind} of {self.shown}, {self.base} → {self.pipeline}, on {self.place}"


class _Timed(_Measurement):
    percentile: float = Field(95, gt=0, lt=100, description="which percentile over the queries")


class Latency(_Timed):
    """A percentile of the milliseconds of a search, or of some of its stages together.

    With `chunks` the collection is grown to so many; else the times are those of a stored run.
    """

    type: Literal["latency"]
    stages: list[str] = Field(
        default_factory=list, description="names in the trace, added up; none: the whole search"
    )
    chunks: int | None = Field(None, ge=1, description="grow the collection to so many chunks")

    @property
    def experiment(self) -> bool:
        """Whether it needs more than stored runs."""
        return self.chunks is not None

    def describe(self) -> str:
        """Return what is measured, in a line."""
        what = " + ".join(self.stages) or "search"
        grown = f" grown to {self.chunks:,} chunks" if self.chunks else ""
        return f"p{self.percentile:g} of {what}, {self.pipeline} on {self.dataset}{grown}"


class SlowestStage(_Timed):
    """A percentile of the milliseconds of that stage, among all but some, where it is largest."""

    type: Literal["slowest_stage"]
    other_than: list[str] = Field(default_factory=list, description="stages left out")

    def describe(self) -> str:
        """Return what is measured, in a line."""
        rest = f" other than {', '.join(self.other_than)}" if self.other_than else ""
        return f"p{self.percentile:g} of the slowest stage{rest}, {self.pipeline} on {self.dataset}"


class LatencyRatio(_Timed):
    """The ratio of a percentile of latency, pipeline / base, both timed interleaved."""

    experimental: ClassVar[bool] = True
    type: Literal["latency_ratio"]
    base: str = Field(min_length=1, description="what it is held against")

    def describe(self) -> str:
        """Return what is measured, in a line."""
        return (
            f"p{self.percentile:g} of {self.pipeline} / {self.base}, interleaved, on {self.dataset}"
        )


INGEST = {
    "seconds_per_100_pages": "seconds per 100 pages of 500 words",
    "seconds_per_document": "p95 of seconds per document",
    "oversize": "chunks over the chunker's maximum",
    "integrity_failures": "documents whose SHA-256 their chunks do not give back",
    "collisions": "chunk ids given twice",
    "on_target": "share of chunks of 800 to 1,500 tokens, in documents of 800 or more",
}


class Ingest(_Measurement):
    """A figure of an ingestion. Times are of one that finds nothing in the cache but models."""

    experimental: ClassVar[bool] = True
    type: Literal["ingest"]
    figure: Literal[
        "seconds_per_100_pages",
        "seconds_per_document",
        "oversize",
        "integrity_failures",
        "collisions",
        "on_target",
    ] = Field(description="; ".join(f"{name}: {text}" for name, text in INGEST.items()))
    contexts: bool = Field(False, description="count the time that contexts take (per 100 pages)")

    @property
    def timed(self) -> bool:
        """Whether the figure is a time."""
        return self.figure.startswith("seconds")

    def describe(self) -> str:
        """Return what is measured, in a line."""
        contexts = ", contexts included" if self.contexts else ""
        return f"{INGEST[self.figure]}{contexts}, {self.pipeline} on {self.dataset}"


class Stale(_Measurement):
    """How many results of a search after an edit show what the documents no longer hold."""

    experimental: ClassVar[bool] = True
    type: Literal["stale"]

    def describe(self) -> str:
        """Return what is measured, in a line."""
        return f"stale results after re-ingestion, {self.pipeline} on {self.dataset}"


class Documents(_Measurement):
    """The share of queries whose first results come from several documents.

    `counted` is for what should hold of every query: the number of those where it does not.
    """

    type: Literal["documents"]
    depth: int = Field(5, ge=1, description="how many results are looked at")
    documents: int = Field(3, ge=1, description="from how many documents they should come")
    counted: bool = Field(False, description="count the queries that fall short, in place of that")

    def describe(self) -> str:
        """Return what is measured, in a line."""
        wanted = f"{self.documents} documents or more"
        hold = f"do not hold {wanted}" if self.counted else f"hold {wanted}"
        return f"queries whose top {self.depth} {hold}, {self.pipeline} on {self.dataset}"


class Similarity(_Measurement):
    """The paired change of how alike a query's first results are, from one pipeline to another.

    That is the mean cosine of every two of them, by the default encoder.
    """

    type: Literal["similarity"]
    base: str = Field(min_length=1, description="what it is held against")
    depth: int = Field(5, ge=2, description="how many results are looked at")

    def describe(self) -> str:
        """Return what is measured, in a line."""
        return (
            f"change of the mean cosine within the top {self.depth}, {self.base} → "
            f"{self.pipeline}, on {self.dataset}"
        )


class Traced(_Measurement):
    """A figure of the counts that a stage leaves in the trace of each query.

    share: of queries with a count above 0; max: the largest count; ratio: the sum of the counts
    over the sum of the counts `of`.
    """

    type: Literal["traced"]
    stage: str = Field(min_length=1, description="the stage's name in the trace")
    count: str = Field(min_length=1, description="the count's name there")
    figure: Literal["share", "max", "ratio"] = Field(description="what is made of the counts")
    of: str = Field("", description="the count below the line of a ratio")

    @model_validator(mode="after")
    def _ratio_has_two(self) -> "Traced":
        if (self.figure == "ratio") != bool(self.of):
            raise ValueError("of: needed for the figure ratio, and for no other")
        return self

    def describe(self) -> str:
        """Return what is measured, in a line."""
        name = {
            "share": f"queries with {self.count} of {self.stage} above 0",
            "max": f"largest {self.count} of {self.stage}",
            "ratio": f"{self.count} / {self.of} of {self.stage}",
        }[self.figure]
        return f"{name}, {self.pipeline} on {self.dataset}"


Measurement = (
    Score
    | Change
    | Latency
    | SlowestStage
    | LatencyRatio
    | Ingest
    | Stale
    | Documents
    | Similarity
    | Traced
)
