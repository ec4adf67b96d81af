"""Ablation: the quality that each part of a pipeline adds, and its cost in time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.eval.runs.json_form import in_json, shape
from assay.eval.runs.summary.claims import Claims
from assay.eval.statistics.estimates import OpenEstimate
from assay.eval.studies.comparison.differences import Difference

MEASURES = ("nDCG@10", "Hit@1", "Recall@20")


@dataclass(frozen=True, slots=True)
class Times:
    """Percentiles of the milliseconds a part itself took, over `n` queries."""

    p50: float
    p95: float
    n: int


@in_json(..., "finding")
@dataclass(frozen=True)
class Row:
    """The quality and the time that one part adds to a pipeline.

    Attributes:
        part: The name of the part.
        kind: Its kind in words.
        along: The other parts that were removed with it.
        run: The id of the run without the part.
        refusal: The reason why there is no variant without the part; "" if there is one.
        failure: The reason why the variant could not be run; "" if it could.
        differences: The scores of the whole pipeline minus those without the part.
        beside: The verdict of the claim that does not lead, in words; "" if it does not differ.
        queries: The number of queries.
        changed: The number of queries whose ranking differs without the part.
        changed_top: The number of queries whose first ten hits differ.
        tokens: The increase in the mean of `Tokens@10`.
        own: The time of the part itself, by the traces.
        total: The median increase in the time of the whole search, over queries timed interleaved
            with and without the part.

    """

    part: str
    kind: str
    along: tuple[str, ...] = ()
    run: str = ""
    refusal: str = ""
    failure: str = ""
    differences: tuple[Difference, ...] = ()
    beside: str = ""
    queries: int = 0
    changed: int = 0
    changed_top: int = 0
    tokens: float = 0.0
    own: Times | None = None
    total: OpenEstimate | None = None

    @property
    def label(self) -> str:
        """The part in words, with the parts that were removed with it."""
        label = f"{self.kind} {self.part}"
        return f"{label} with {', '.join(self.along)}" if self.along else label

    @property
    def gains(self) -> list[Difference]:
        """The measures that the part is shown to raise."""
        return [item for item in self.differences if item.verdict == "better"]

    @property
    def harms(self) -> list[Difference]:
        """The measures that the part is shown to lower."""
        return [item for item in self.differences if item.verdict == "worse"]

    @property
    def presuming(self) -> list[Difference]:
        """The differences that are shown only if large gains and losses are equally rare."""
        return [item for item in self.differences if item.presumes_symmetry]

    @property
    def idle(self) -> bool:
        """True if the part has differences, and none of them is shown."""
        return bool(self.differences) and not self.gains and not self.harms

    @property
    def finding(self) -> str:
        """The finding on the part, in a clause or two."""
        if not self.differences:
            return f"failed: {self.failure}" if self.failure else self.refusal
        if self.idle:
            found = f"adds nothing that {self.queries} queries can show"
            found = found if self.changed else f"changes no ranking of {self.queries} queries"
        else:
            parts = (("adds", self.gains), ("hurts", self.harms))
            found = "; ".join(f"{word} {_list(items)}" for word, items in parts if items)
        if self.beside:
            found += f"; {self.beside}"
        return f"{found}; costs {milliseconds(self.own.p95)} ms" if self.own else found


@in_json(
    ...,
    "tests",
    "conclusions",
    but=("means", "claims"),
    full=shape("", "means", run="full"),
    claim="claims",
)
@dataclass(frozen=True)
class Ablation:
    """A pipeline without each of its parts.

    All differences are one family of tests.

    Attributes:
        full: The id of the run of the whole pipeline.
        means: Its mean by measure.
        removals: A row for each removed part.
        claims: The claims that the queries can support.

    """

    id: str
    name: str
    collection: str
    queries: int
    created: str
    environment: Mapping[str, Any]
    measures: tuple[str, ...]
    full: str
    means: Mapping[str, float]
    removals: tuple[Row, ...]
    claims: Claims
    warnings: tuple[str, ...] = ()

    @property
    def tests(self) -> int:
        """The number of differences that are tested together."""
        return sum(item.p is not None for row in self.removals for item in row.differences)

    @property
    def timed(self) -> bool:
        """True if pipelines were timed interleaved."""
        return any(row.total for row in self.removals)

    @property
    def failed(self) -> list[Row]:
        """The rows whose variant could not be run."""
        return [row for row in self.removals if row.failure]

    @property
    def conclusions(self) -> list[str]:
        """The parts of the whole pipeline grouped by their shown effect, a line for each group."""
        groups = (
            ("adds quality", [row for row in self.removals if row.gains and not row.harms]),
            ("adds nothing shown", [row for row in self.removals if row.idle]),
            ("hurts", [row for row in self.removals if row.harms]),
        )
        return [f"{what}: {', '.join(row.label for row in rows)}" for what, rows in groups if rows]


def milliseconds(value: float) -> str:
    """Return milliseconds to two significant digits."""
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _list(items: Sequence[Difference]) -> str:
    return ", ".join(f"{item.measure} {item.difference.value:+.3f}" for item in items)
