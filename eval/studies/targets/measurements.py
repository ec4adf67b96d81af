"""The kinds of measurement that a target can name, and the keys of each."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from assay.eval.studies.targets.measurement_base import (
    BaseMeasurement,
    ScoredMeasurement,
    TimedMeasurement,
)


class Score(ScoredMeasurement):
    """The mean of a measure.

    `census` says that the queries are all there are of their kind, not a sample of them: their
    mean is then exact.
    """

    type: Literal["score"]
    census: bool = Field(False, description="the queries are all of their kind, not a sample")

    def describe(self) -> str:
        """Return what is measured, in a line."""
        return f"{self.shown} of {self.pipeline} on {self.place}"


class Change(ScoredMeasurement):
    """The paired change of the mean of a measure from one pipeline to another."""

    type: Literal["change"]
    base: str = Field(min_length=1, description="what it is held against")
    relative: bool = Field(True, description="as a share of the base's mean")

    def describe(self) -> str:
        """Return what is measured, in a line."""
        kind = "relative change" if self.relative else "change"
        return f"{kind} of {self.shown}, {self.base} → {self.pipeline}, on {self.place}"


class Latency(TimedMeasurement):
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


class SlowestStage(TimedMeasurement):
    """A percentile of the milliseconds of that stage, among all but some, where it is largest."""

    type: Literal["slowest_stage"]
    other_than: list[str] = Field(default_factory=list, description="stages left out")

    def describe(self) -> str:
        """Return what is measured, in a line."""
        rest = f" other than {', '.join(self.other_than)}" if self.other_than else ""
        return f"p{self.percentile:g} of the slowest stage{rest}, {self.pipeline} on {self.dataset}"


class LatencyRatio(TimedMeasurement):
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
    "seconds_of_slowest_document": "seconds of the document that took longest",
    "oversize": "chunks over the chunker's maximum",
    "integrity_failures": "documents whose SHA-256 their chunks do not give back",
    "collisions": "chunk ids given twice",
    "on_target": "share of chunks of 800 to 1,500 tokens, in documents of 800 or more",
    "on_target_parts": "share of chunks of 800 to 1,500 tokens, in parts of 800 or more between "
    "headings that no chunk crosses",
}


class Ingest(BaseMeasurement):
    """A figure of an ingestion. Times are of one that finds nothing in the cache but models."""

    experimental: ClassVar[bool] = True
    type: Literal["ingest"]
    figure: Literal[
        "seconds_per_100_pages",
        "seconds_of_slowest_document",
        "oversize",
        "integrity_failures",
        "collisions",
        "on_target",
        "on_target_parts",
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


class Stale(BaseMeasurement):
    """How many results of a search after an edit show what the documents no longer hold."""

    experimental: ClassVar[bool] = True
    type: Literal["stale"]

    def describe(self) -> str:
        """Return what is measured, in a line."""
        return f"stale results after re-ingestion, {self.pipeline} on {self.dataset}"


class Documents(BaseMeasurement):
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


class Similarity(BaseMeasurement):
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


class Duplicates(BaseMeasurement):
    """How many of the first results of all queries are duplicates of one before them.

    Those are results of a cosine of `over` or more, by the default encoder.
    """

    type: Literal["duplicates"]
    depth: int = Field(10, ge=2, description="how many results are looked at")
    over: float = Field(0.85, gt=-1, lt=1, description="the cosine from which two results are one")

    def describe(self) -> str:
        """Return what is measured, in a line."""
        return (
            f"results within the top {self.depth} of a cosine of {self.over:g} or more with one "
            f"before, {self.pipeline} on {self.dataset}"
        )


class TraceFlow(BaseMeasurement):
    """In how many queries a stage takes in another number of hits than the one before it gave."""

    type: Literal["flow"]

    def describe(self) -> str:
        """Return what is measured, in a line."""
        return f"queries whose counts of hits do not add up, {self.pipeline} on {self.dataset}"


class TraceMeasurement(BaseMeasurement):
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
    def _ratio_has_two(self) -> "TraceMeasurement":
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
    | Duplicates
    | TraceFlow
    | TraceMeasurement
)
