"""Comparison of two periods of traffic, and their coverage by judged queries."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from assay.eval.collections.loading import load
from assay.eval.report.formats import count, percent
from assay.eval.runs import environment
from assay.eval.runs.json_form import in_json, or_null
from assay.eval.studies.traces.drift import Period, Queries, Shift, find_shifts, read_search
from assay.eval.studies.traces.judged_coverage import SHOWN, JudgedCoverage, cover
from assay.eval.studies.traces.personal_data import Masker
from assay.eval.studies.traces.spans import SECOND
from assay.eval.studies.traces.traces import open_book
from assay.retrievers.base import AssayError
from assay.retrievers.settings import Resources

LEAST = 30  # least searches of a period, and least sessions for a useful test


@in_json(..., but=("coverage",), dataset=or_null("dataset"), judged="coverage")
@dataclass(frozen=True)
class TrafficDrift:
    """The comparison of two periods: all tested figures, and the coverage by judged queries."""

    id: str
    periods: tuple[str, str]
    searches: tuple[int, int]
    sessions: tuple[int, int]
    shifts: Sequence[Shift]
    dataset: str
    coverage: JudgedCoverage | None
    faults: Mapping[str, int]
    notes: Sequence[str]
    environment: Mapping[str, Any]

    @property
    def moved(self) -> list[Shift]:
        """The figures that changed significantly."""
        return [shift for shift in self.shifts if shift.moved]

    def tell(self) -> list[str]:
        """Return the conclusions, in sentences."""
        moved = f"{len(self.moved)} of" if self.moved else "None is shown to have moved of"
        lines = [f"{moved} {len(self.shifts)} figures" + (" moved." if self.moved else ".")]
        if min(self.sessions) < LEAST:
            lines.append(
                f"The periods have {self.sessions[0]} and {self.sessions[1]} sessions; fewer than "
                f"{LEAST} seldom show that anything moved."
            )
        if self.coverage:
            lines.append(
                f"{percent(self.coverage.far)} of the later searches are as far from any of the "
                f"{self.coverage.judged} judged queries of {self.dataset} as the farthest tenth of "
                "the earlier ones."
            )
            if self.coverage.idle:
                some = "; ".join(self.coverage.idle[:SHOWN])
                lines.append(
                    f"{len(self.coverage.idle)} judged queries stood for earlier searches and for "
                    f"no later one: {some}"
                )
        return lines


def compare(
    sources: Sequence[str],
    at: datetime | None,
    dataset: str | None,
    region: str | None,
    resources: Resources,
) -> TrafficDrift:
    """Compare two sources of traces, or the searches before and from `at`. Raises AssayError."""
    if at is None and len(sources) != 2:
        raise AssayError(
            f"drift: {count(len(sources), 'source')} without --at; allowed: two, the earlier "
            "first, or any with --at TIME"
        )
    masker = Masker(region)
    faults: Counter[str] = Counter()
    known = Queries()
    base, now = Period(known), Period(known)

    def read(chosen: Sequence[str], begin: float) -> None:
        """Add searches to their period: the later one begins at `begin`."""
        with open_book(chosen) as book:
            for trace in book.traces():
                (now if trace.time >= begin else base).add(read_search(trace, masker))
        faults.update(book.faults)

    if at is None:
        read(sources[:1], math.inf)
        read(sources[1:], 0)
        periods = (sources[0], sources[1])
    else:
        read(sources, int(at.timestamp()) * SECOND)
        periods = (f"before {at:%Y-%m-%dT%H:%M:%S}", f"from {at:%Y-%m-%dT%H:%M:%S}")
    for name, searches in zip(periods, (base, now), strict=True):
        if len(searches) < LEAST:
            raise AssayError(
                f"{name}: has {count(len(searches), 'search', 'searches')}; at least {LEAST} are "
                "needed in each period"
            )
    judged = load(dataset, resources.progress).queries if dataset else ()
    coverage = cover(base, now, judged, resources) if judged else None
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")[:-3]
    return TrafficDrift(
        id=f"drift-{stamp}",
        periods=periods,
        searches=(len(base), len(now)),
        sessions=(base.sessions, now.sessions),
        shifts=find_shifts(base, now, coverage.nearest if coverage else None),
        dataset=dataset or "",
        coverage=coverage,
        faults=faults,
        notes=masker.describe(),
        environment=environment.describe(),
    )
