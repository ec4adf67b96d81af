"""Ablation: what each part of a pipeline adds, and what it costs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from eval.analysis.ablation_variants import Part, Variant
from eval.analysis.differences import Contrast, Difference, judge_family
from eval.runs.stored import StoredRun
from eval.statistics.estimates import OpenEstimate, estimate_percentile

MEASURES = ("nDCG@10", "Hit@1", "Recall@20")
TOKENS = "Tokens@10"
TOP = 10
KINDS = {"query": "query step", "leg": "leg", "stage": "stage"}


@dataclass(frozen=True)
class Observed:
    """What ablation needs of a run: scores by measure and query, the ids of hits by query.

    `latency` are milliseconds by query and stage, `times` those of whole searches, timed by turns
    with the other variants, on the same queries.
    """

    run: str
    scores: Mapping[str, Mapping[str, float]]
    hits: Mapping[str, tuple[str, ...]]
    latency: Mapping[str, Mapping[str, float]]
    times: Sequence[float]
    degraded: Mapping[str, int]

    @classmethod
    def of(
        cls,
        run: StoredRun,
        scores: Mapping[str, Mapping[str, float]],
        times: Sequence[float] = (),
    ) -> "Observed":
        """Return what is needed of `run`, whose `scores` have been computed."""
        return cls(
            run=run.manifest.id,
            scores=scores,
            hits={
                query: tuple(hit.chunk.id for hit in ranking.hits)
                for query, ranking in run.rankings.items()
            },
            latency={sample.query_id: sample.milliseconds for sample in run.latency},
            times=times,
            degraded=run.manifest.degraded,
        )


@dataclass(frozen=True, slots=True)
class Times:
    """Percentiles of the milliseconds a part itself took, over `n` queries."""

    p50: float
    p95: float
    n: int


@dataclass(frozen=True)
class Row:
    """What one part adds to a pipeline.

    `differences` are those of the pipeline with the part from that without, `run` is the variant
    that was made for it. `changed` of the `queries` are ranked otherwise, `changed_top` within
    the first ten. `tokens` is by how many the mean of `Tokens@10` rises. `own` is the time of the
    part by the traces; `total` the median, over queries timed with and without it by turns, of the
    difference of all the time. Where there is no variant, `refusal` says why; where it could not
    be run, `failure` does.
    """

    part: str
    kind: str
    along: tuple[str, ...] = ()
    replaces: bool = False
    run: str = ""
    refusal: str = ""
    failure: str = ""
    differences: tuple[Difference, ...] = ()
    queries: int = 0
    changed: int = 0
    changed_top: int = 0
    tokens: float = 0.0
    own: Times | None = None
    total: OpenEstimate | None = None

    @property
    def label(self) -> str:
        """The part in words, with what goes or comes with it."""
        label = f"{self.kind} {self.part}"
        if self.replaces:
            label += " in place of the plain one"
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
        """The differences shown that are only if large gains and losses are equally rare."""
        return [item for item in self.differences if item.presumes_symmetry]

    @property
    def idle(self) -> bool:
        """Whether the part is shown to change no measure."""
        return bool(self.differences) and not self.gains and not self.harms

    @property
    def finding(self) -> str:
        """What was found of the part, in a clause or two."""
        if not self.differences:
            return f"failed: {self.failure}" if self.failure else self.refusal
        if self.idle:
            found = f"adds nothing that {self.queries} queries can show"
            found = found if self.changed else f"changes no ranking of {self.queries} queries"
        else:
            parts = (("adds", self.gains), ("hurts", self.harms))
            found = "; ".join(f"{word} {_list(items)}" for word, items in parts if items)
        return f"{found}; costs {milliseconds(self.own.p95)} ms" if self.own else found


@dataclass(frozen=True)
class Ablation:
    """A pipeline without each of its parts, and a plain one with each of them alone.

    `full` and `plain` are the ids of runs, one id where the pipeline is the plain one; `means` are
    theirs by these two words. All differences of both tables are one family of tests.
    """

    id: str
    name: str
    collection: str
    queries: int
    created: str
    environment: Mapping[str, Any]
    measures: tuple[str, ...]
    full: str
    plain: str
    plain_legs: tuple[str, ...]
    means: Mapping[str, Mapping[str, float]]
    removals: tuple[Row, ...]
    additions: tuple[Row, ...]
    warnings: tuple[str, ...] = ()

    @property
    def tests(self) -> int:
        """The number of differences that are tested together."""
        return sum(item.p is not None for row in self.rows for item in row.differences)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of both tables."""
        return (*self.removals, *self.additions)

    @property
    def timed(self) -> bool:
        """Whether pipelines were timed by turns."""
        return any(row.total for row in self.rows)

    @property
    def failed(self) -> list[Row]:
        """The rows whose variant could not be run."""
        return [row for row in self.rows if row.failure]

    @property
    def conclusions(self) -> list[str]:
        """The parts of the whole pipeline by what they are shown to do, a line a kind."""
        groups = (
            ("adds quality", [row for row in self.removals if row.gains and not row.harms]),
            ("adds nothing shown", [row for row in self.removals if row.idle]),
            ("hurts", [row for row in self.removals if row.harms]),
        )
        return [f"{what}: {', '.join(row.label for row in rows)}" for what, rows in groups if rows]

    def as_json(self) -> dict[str, Any]:
        """Return all that was found as JSON values."""
        return {
            "id": self.id,
            "name": self.name,
            "collection": self.collection,
            "queries": self.queries,
            "created": self.created,
            "measures": list(self.measures),
            "tests": self.tests,
            "full": {"run": self.full, "means": dict(self.means["full"])},
            "plain": {
                "run": self.plain,
                "legs": list(self.plain_legs),
                "means": dict(self.means["plain"]),
            },
            "removals": [_row_as_json(row) for row in self.removals],
            "additions": [_row_as_json(row) for row in self.additions],
            "conclusions": self.conclusions,
            "warnings": list(self.warnings),
            "environment": dict(self.environment),
        }


@dataclass(frozen=True, slots=True)
class Weighed:
    """The row of a variant before its differences are judged, and what they are made of."""

    row: Row
    contrasts: tuple[Contrast, ...] = ()


def weigh(
    variant: Variant,
    parts: Sequence[Part],
    pair: tuple[Observed, Observed],
    run: str,
    measures: Sequence[str],
) -> Weighed:
    """Return the row of a variant: what `pair`, without the part and with it, shows.

    `run` is that of the two that was made for the variant.
    """
    without, with_ = pair
    queries = list(with_.hits)
    row = replace(
        describe(variant),
        run=run,
        queries=len(queries),
        changed=sum(with_.hits[id_] != without.hits[id_] for id_ in queries),
        changed_top=sum(with_.hits[id_][:TOP] != without.hits[id_][:TOP] for id_ in queries),
        tokens=_mean(with_, TOKENS) - _mean(without, TOKENS),
        own=time_part(variant.part, parts, with_.latency),
        total=_compare_totals(without, with_),
    )
    contrasts = (Contrast(name, "", without.scores[name], with_.scores[name]) for name in measures)
    return Weighed(row, tuple(contrasts))


def describe(variant: Variant, failure: str = "") -> Row:
    """Return the row of a variant without figures."""
    return Row(
        part=variant.part.name,
        kind=KINDS[variant.part.kind],
        along=tuple(part.name for part in variant.along),
        replaces=variant.replaces,
        refusal=variant.refusal,
        failure=failure,
    )


def judge(weighed: Sequence[Weighed]) -> Iterator[Row]:
    """Yield the rows with their differences, all of them judged as one family."""
    judged = iter(judge_family([contrast for item in weighed for contrast in item.contrasts]))
    for item in weighed:
        yield replace(item.row, differences=tuple(islice(judged, len(item.contrasts))))


def time_part(
    part: Part, parts: Sequence[Part], latency: Mapping[str, Mapping[str, float]]
) -> Times | None:
    """Return the time of a part by the traces, a leg's encoding of the query included.

    None where nothing was timed, or where another part has the same name in the traces.
    """
    if sum(other.name == part.name for other in parts) > 1 or not latency:
        return None
    within = f"{part.name}."
    taken = [
        sum(value for name, value in steps.items() if name == part.name or name.startswith(within))
        for steps in latency.values()
    ]
    return Times(float(np.percentile(taken, 50)), float(np.percentile(taken, 95)), len(taken))


def milliseconds(value: float) -> str:
    """Return milliseconds to two significant digits."""
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _compare_totals(without: Observed, with_: Observed) -> OpenEstimate | None:
    if not with_.times or not without.times:
        return None
    pairs = zip(without.times, with_.times, strict=True)
    return estimate_percentile([after - before for before, after in pairs], 50)


def _mean(observed: Observed, measure: str) -> float:
    return float(np.mean(list(observed.scores[measure].values())))


def _list(items: Sequence[Difference]) -> str:
    return ", ".join(f"{item.measure} {item.difference.value:+.3f}" for item in items)


def _row_as_json(row: Row) -> dict[str, Any]:
    return {**asdict(row), "finding": row.finding}
