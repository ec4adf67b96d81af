"""`assay audit`: the evidence in a published pair of means."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import Field

from assay.eval.report.blocks import Column, Plot, Report, Table
from assay.eval.report.formats import count, p_value
from assay.eval.running.study import Lab, Study, StudyOptions
from assay.eval.runs import environment
from assay.eval.runs.json_form import in_json
from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.significance import ALPHA, detectable
from assay.retrievers.base import AssayError
from assay.retrievers.store.digest import digest

SPREADS = (0.1, 0.2, 0.3, 0.4, 0.5)
ROWS = 9  # rows of the table of possible numbers of changed queries
INDEPENDENT = (
    "The queries are taken as independent. Those that share documents count for fewer: give the "
    "number they count as."
)


class AuditOptions(StudyOptions):
    """Two means of one measure, on the same queries."""

    n: int = Field(ge=2, le=1_000_000, description="How many queries the means are of.")
    base: float = Field(ge=0, le=1, description="The mean of the system it is compared with.")
    new: float = Field(ge=0, le=1, description="The mean of the system that is said to be better.")
    sd: float | None = Field(
        None, gt=0, le=1, description="The standard deviation of the differences, where it is told."
    )
    hits: bool = Field(False, description="Each score is 0 or 1, as of Hit@k or accuracy.")
    tried: int = Field(
        1, ge=1, le=1_000_000, description="How many systems or settings were tried on the queries."
    )


@dataclass(frozen=True)
class SignTest:
    """The exact test if `changed` queries changed from hit to miss or from miss to hit."""

    changed: int
    p: float


MOST_QUERIES = 1_000_000


@dataclass(frozen=True)
class Reading:
    """The paired t-test of the difference if the differences of single queries have the SD `sd`.

    Attributes:
        sd: The standard deviation of the differences of single queries.
        difference: The mean difference, with the interval at the requested level.
        p: The two-sided p-value.
        detectable: The smallest difference that this number of queries shows with power 0.8.
        needed: The number of queries that would show this difference with power 0.8; None if that
            is beyond a million.

    """

    sd: float
    difference: Estimate
    p: float
    detectable: float
    needed: int | None


def read_difference(difference: float, sd: float, n: int, level: float) -> Reading:
    """Return the paired t-test of a mean difference of `n` pairs with SD `sd` > 0."""
    from scipy.special import stdtr, stdtrit

    error = sd / math.sqrt(n)
    half = float(stdtrit(n - 1, 1 - level / 2)) * error
    p = float(2 * stdtr(n - 1, -abs(difference) / error))
    estimate = Estimate(difference, difference - half, difference + half, n)
    needed = find_needed(abs(difference), sd, level)
    return Reading(sd, estimate, p, detectable(sd, n, alpha=level), needed)


def find_needed(difference: float, sd: float, level: float) -> int | None:
    """Return the fewest queries that show a difference with power 0.8; None if over a million."""
    low, high = 2, 4
    while detectable(sd, high, alpha=level) > difference:
        low, high = high, 2 * high
        if low > MOST_QUERIES:
            return None
    while low < high:
        middle = (low + high) // 2
        if detectable(sd, middle, alpha=level) > difference:
            low = middle + 1
        else:
            high = middle
    return low


def limit_sd(base: float, new: float, n: int) -> tuple[float, float]:
    """Return the least and the largest standard deviation of differences of scores from 0 to 1.

    It is 0 if every query changed by the same amount. It is largest if all scores are 0 or 1 and as
    many queries changed as the means allow: E(d²) is then the share that changed.
    """
    changed = min(base + new, 2 - base - new)
    return 0.0, math.sqrt(max(changed - (new - base) ** 2, 0.0) * n / (n - 1))


def find_shown_below(difference: float, n: int, level: float) -> float:
    """Return the SD below which the paired t-test shows a mean difference of `n` pairs."""
    from scipy.special import stdtrit

    return abs(difference) * math.sqrt(n) / float(stdtrit(n - 1, 1 - level / 2))


def list_sign_tests(base: int, new: int, n: int) -> Iterator[tuple[int, float]]:
    """Yield each possible number of changed queries of `n`, fewest first, with its exact p-value.

    `base` and `new` are the numbers of hits. The p-value is McNemar's by the binomial distribution,
    two-sided.
    """
    from scipy.special import bdtr

    fewest, most = abs(new - base), min(base + new, 2 * n - base - new)
    for changed in range(fewest, most + 1, 2):
        against = (changed - fewest) // 2  # queries that changed in the less common direction
        yield changed, min(1.0, 2 * float(bdtr(against, changed, 0.5)))


@in_json(..., "difference", "shown")
@dataclass(frozen=True)
class Audit:
    """The evidence for a difference between two means.

    Attributes:
        id: The name of the audit.
        asked: The two means and the options.
        level: .05 divided by the number of systems tried (Bonferroni).
        spread: The least and the largest standard deviation of the differences of single queries
            that the means allow.
        shown_below: The standard deviation below which the difference is shown.
        readings: The paired t-test by standard deviation.
        sign_tests: The exact tests by the number of changed queries; only if each score is 0 or 1.
        environment: The code and the machine.

    """

    id: str
    asked: AuditOptions
    level: float
    spread: tuple[float, float]
    shown_below: float
    readings: tuple[Reading, ...]
    sign_tests: tuple[SignTest, ...]
    environment: Mapping[str, Any] = field(default_factory=environment.describe)

    @property
    def difference(self) -> float:
        """The new mean minus the base."""
        return self.asked.new - self.asked.base

    @cached_property
    def shown(self) -> bool | None:
        """True if the difference is shown; None if that depends on values that are not known."""
        if not self.difference:
            return False
        if self.sign_tests:
            found = {test.p <= self.level for test in self.sign_tests}
        elif self.asked.sd is not None:
            found = {self.readings[0].p <= self.level}
        else:
            found = {self.difference != 0, self.spread[1] <= self.shown_below}
        return found.pop() if len(found) == 1 else None


def find(asked: AuditOptions, _lab: Lab) -> Audit:
    """Say what a published table of two means can and cannot show.

    Nothing is run: the two means and the number of queries are enough. Where the table does not
    tell how much the differences of single queries vary, what the difference is worth is shown for
    several spreads, and which the means allow.
    """
    level = ALPHA / asked.tried
    difference = asked.new - asked.base
    spread = limit_sd(asked.base, asked.new, asked.n)
    tests: list[SignTest] = []
    if asked.hits:
        base = _count_hits("base", asked.base, asked.n)
        new = _count_hits("new", asked.new, asked.n)
        tests = [SignTest(*pair) for pair in list_sign_tests(base, new, asked.n)]
    if asked.sd is not None and asked.sd > spread[1] + 1e-9:
        raise AssayError(
            f"--sd: {asked.sd:g} is more than scores from 0 to 1 with these means can vary; "
            f"allowed: up to {spread[1]:.3f}"
        )
    spreads = [asked.sd] if asked.sd is not None else [s for s in SPREADS if s <= spread[1]]
    return Audit(
        f"audit-{digest(asked.model_dump())[:8]}",
        asked,
        level,
        spread,
        find_shown_below(difference, asked.n, level),
        tuple(read_difference(difference, sd, asked.n, level) for sd in spreads),
        tuple(tests),
    )


def report(found: Audit) -> Report:
    """Return the report of an audit."""
    asked, hits = found.asked, found.sign_tests
    percent = f"{100 * (1 - found.level):.8g} %"
    readings = Table(
        "spreads",
        "By how much the differences of single queries vary",
        [
            Column("sd", "Spread (SD)", "score"),
            Column("difference", f"Difference ({percent})", "difference"),
            Column("p", "p", "p"),
            Column("detectable", "Shown from", "score"),
            Column("needed", "Queries needed", "count"),
        ],
        found.readings,
        note="Paired t-test. Shown from: the smallest difference that so many queries show in "
        "four of five cases. Queries needed: to show this difference as often.",
        plot=Plot("difference", "difference"),
        brief=not hits,
    )
    changed = Table(
        "changed",
        "By how many queries changed from hit to miss or back",
        [Column("changed", "Queries changed", "count"), Column("p", "p (exact)", "p")],
        _thin(found),
        note="McNemar's test. At least that many changed, since the means differ by so much; "
        "the last row is the most that the means allow.",
    )
    return Report(
        id=found.id,
        kind="audit",
        title=f"{asked.base:g} → {asked.new:g}",
        subject=(f"on {count(asked.n, 'query', 'queries')}",),
        verdict=[_judge(found)],
        warnings=[INDEPENDENT],
        blocks=[changed, readings] if hits else [readings],
        environment=found.environment,
    )


STUDY = Study("audit", AuditOptions, find, report)


def _count_hits(name: str, mean: float, n: int) -> int:
    """Return the number of hits. Raises AssayError if no number of hits has that mean."""
    hits = round(mean * n)
    digits = len(f"{mean:.12g}".partition(".")[2])
    if abs(hits / n - mean) > 0.5 * 10.0**-digits + 1e-12:
        raise AssayError(
            f"--{name}: no number of hits of {n} has a mean of {mean:g}; the nearest is "
            f"{hits}, {hits / n:.6g}"
        )
    return hits


def _thin(found: Audit) -> list[SignTest]:
    """Return at most `ROWS` tests: the ends, both sides of the level, and some between."""
    tests = found.sign_tests
    if len(tests) <= ROWS:
        return list(tests)
    places = {round(i * (len(tests) - 1) / (ROWS - 3)) for i in range(ROWS - 2)}
    last = sum(test.p <= found.level for test in tests)
    places |= {place for place in (last - 1, last) if 0 <= place < len(tests)}
    return [tests[place] for place in sorted(places)]


def _judge(found: Audit) -> str:
    """Return the verdict in a sentence: shown, not shown, or the condition it depends on."""
    asked = found.asked
    word = "rise" if found.difference > 0 else "fall" if found.difference < 0 else "difference"
    what = f"a {word} of {abs(found.difference):.3g} on {count(asked.n, 'query', 'queries')}"
    tried = f", where {asked.tried:,} were tried," if asked.tried > 1 else ""
    if found.shown is not None:
        known = "whatever changed" if asked.sd is None else f"with a spread of {asked.sd:g}"
        p = f" (p {p_value(found.readings[0].p)})" if asked.sd is not None else ""
        verb = "is shown" if found.shown else "is not shown"
        return f"{what[0].upper()}{what[1:]}{tried} {verb} {known}{p}"
    if found.sign_tests:
        most = max(test.changed for test in found.sign_tests if test.p <= found.level)
        depends = f"no more than {count(most, 'query', 'queries')} changed from hit to miss or back"
    else:
        depends = (
            f"the differences of single queries have a standard deviation below "
            f"{found.shown_below:.3f}; with these means it may be up to {found.spread[1]:.3f}"
        )
    return f"{what[0].upper()}{what[1:]}{tried} is shown only if {depends}"
