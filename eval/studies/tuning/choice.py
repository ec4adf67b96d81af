"""What choosing a pipeline found, and the sentence that it comes to."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

from assay.eval.configs.config import RunConfig
from assay.eval.report.formats import amount, count, score
from assay.eval.running.search_space import Point
from assay.eval.runs.summary.claims import Claims
from assay.eval.statistics.estimates import Estimate, OpenEstimate
from assay.eval.statistics.significance import TIE
from assay.eval.studies.comparison.differences import Difference
from assay.eval.studies.comparison.words import conclude_opposite, tell_change

GIVEN = "as given"
LEGS = "legs"  # the stage in which each leg is tried alone
FEWEST = 30  # queries; half of fewer cannot judge a choice


def describe_few(questions: int) -> str:
    """Return that so few questions can show what scores highest, and not what is best."""
    return (
        f"You have {count(questions, 'question')}; choosing needs {FEWEST}. Add "
        f"{FEWEST - questions}, or see only what scores highest."
    )


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate of a stage: its mean over the queries of the choice, or why it has none.

    `steps` are all that differs from the config as given, in words, its own last.
    """

    stage: str
    steps: tuple[str, ...]
    point: Point
    mean: Estimate | None
    left_out: str = ""

    @property
    def words(self) -> str:
        """All that differs from the config as given."""
        return ", ".join(self.steps) or GIVEN

    @property
    def own(self) -> str:
        """What it changes on top of what the stages before had brought."""
        return self.steps[-1] if self.steps else GIVEN

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**asdict(self), "mean": self.mean.value if self.mean else None}


@dataclass(frozen=True, slots=True)
class JudgedPipeline:
    """A pipeline that was run on all queries.

    `means` are by measure, over the queries judged by, else over all; `latency` has percentiles of
    the milliseconds a query takes, and is empty where nothing was timed.
    """

    means: Mapping[str, Estimate]
    latency: Mapping[str, OpenEstimate]

    @property
    def p50(self) -> OpenEstimate | None:
        """The median in ms; None where nothing was timed."""
        return self.latency.get("p50")


@dataclass(frozen=True)
class Choice:
    """What was found.

    `best` led on the `chosen_on` queries of the choice; `chosen` is its config. `differences` hold
    it against the config as given ("base") and BM25 alone ("bm25") on `judged` other queries, as
    one family; that against itself is left out, and where no query is left to judge by, all are.
    `claims` are what the questions can be a verdict on, and `opposite` has the differences by the
    claim that does not lead. `pipelines` are "best", "base" and "bm25". `asked` is the digest of
    what was asked.
    """

    config: RunConfig
    chosen: RunConfig
    measure: str
    trials: tuple[Trial, ...]
    best: Trial
    chosen_on: int
    judged: int
    grouped_by: str
    pipelines: Mapping[str, JudgedPipeline]
    differences: Mapping[str, Difference]
    opposite: Mapping[str, Difference]
    claims: Claims
    asked: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """What names its files: the config and the collection."""
        name = f"{self.config.name}-{Path(self.config.dataset).name}"
        return re.sub(r"[^A-Za-z0-9_.-]+", ".", name)

    @property
    def ships(self) -> bool:
        """Whether the best is to be shipped: it is shown to be better than the config as given."""
        found = self.differences.get("base")
        return bool(found and found.verdict == "better")

    @property
    def shipped(self) -> RunConfig:
        """The pipeline to ship."""
        return self.chosen if self.ships else self.config

    @property
    def kept(self) -> list[Trial]:
        """The candidates that led when their stage ended, on which the next were laid."""
        led: dict[str, Trial] = {}
        best = -1.0
        for item in self.trials:
            if item.mean is not None and item.mean.value > best + TIE:
                best, led[item.stage] = item.mean.value, item
        return list(led.values())

    @property
    def name(self) -> str:
        """The best in words: the config, or the leg alone, with what differs."""
        steps = self.best.steps
        alone = bool(steps) and self.best.stage == LEGS
        return steps[0] if alone else f"{self.config.name} with {self.best.words}"

    @property
    def conclusion(self) -> str:
        """Which pipeline to ship, and what shows it, in a few sentences."""
        told = [self._conclude()]
        if self.judged:
            told += [self.claims.sentence, self._tell_opposite()]
        return " ".join(filter(None, told))

    def _tell_opposite(self) -> str:
        """Return what the other claim says of the best candidate; "" where it is the same."""
        found, opposite = self.differences.get("base"), self.opposite.get("base")
        if found is None or opposite is None or found.shown == opposite.shown:
            return ""
        return conclude_opposite(opposite, (self.config.name, self.name), self.claims)

    def _conclude(self) -> str:
        base = self.config.name
        if not self.judged:
            highest = self.best.mean.value if self.best.mean else 0.0
            return (
                f"Keep {base}. {describe_few(self.chosen_on)} That is {self.name}, with "
                f"{self.measure} {score(highest)}."
            )
        on = f"on {count(self.judged, 'question')} that had no part in the choice"
        if not self.best.point:
            told = f"Keep {base}: no candidate was better on the {self.chosen_on} questions of the"
            return f"{told} choice. {self._describe_bm25(on)}"
        found = self.differences["base"]
        change = tell_change(found)
        if self.ships:
            return (
                f"Ship {self.name}: {self.measure} is "
                f"{self._show_mean('best')} against {self._show_mean('base')} for {base} and "
                f"{self._show_mean('bm25')} for BM25 alone; over {base} {change}, {on}."
                f"{self._warn_of_bm25()}"
            )
        return (
            f"Keep {base}: nothing is shown to be better. The best candidate, {self.name}, "
            f"changes {self.measure} by {change}, {on}.{self._describe_needed(found)}"
        )

    def _show_mean(self, name: str) -> str:
        return score(self.pipelines[name].means[self.measure].value)

    def _describe_bm25(self, on: str) -> str:
        found = self.differences["bm25"]
        change = tell_change(found)
        return (
            f"Its {self.measure} is {self._show_mean('base')} against "
            f"{self._show_mean('bm25')} for BM25 alone, {change}, {on}."
        )

    def _warn_of_bm25(self) -> str:
        """Return what must be said where what ships is not shown to be better than BM25 alone."""
        found = self.differences.get("bm25")
        if found is None or found.verdict == "better":
            return ""
        told = "worse" if found.shown else "not shown to be better"
        change = tell_change(found)
        return f" It is {told} than BM25 alone, which costs least: {change}."

    def _describe_needed(self, found: Difference) -> str:
        """Return how many questions would show a gain of the size that was seen, if it is one."""
        gain = found.difference.value
        if gain <= 0 or not found.detectable:
            return ""
        needed = ceil(found.n * (found.detectable / gain) ** 2) * 2
        return (
            f" A gain of that size would most likely be found by about {needed:,} questions; there "
            f"are {self.chosen_on + self.judged:,}."
        )

    def describe_latency(self) -> str:
        """Return what a query takes, "" where nothing was timed."""
        named = {"best": "the best candidate", "base": self.config.name, "bm25": "BM25 alone"}
        shown = ["base", "bm25"] if not self.best.point else ["best", "base", "bm25"]
        told = [
            f"{amount(median.value)} ms {named[name]}"
            for name in shown
            if (median := self.pipelines[name].p50)
        ]
        return f"Median time of a query, timed by turns: {', '.join(told)}." if told else ""

    def as_json(self) -> dict[str, Any]:
        """Return all that was found as JSON values."""
        return {
            "collection": self.config.dataset,
            "base": self.config.name,
            "measure": self.measure,
            "conclusion": self.conclusion,
            "ships": dict(self.best.point) if self.ships else {},
            "best": self.best.as_json(),
            "chosen_on": self.chosen_on,
            "judged": self.judged,
            "grouped_by": self.grouped_by,
            "claim": self.claims.as_json(),
            "means": {
                name: item.means[self.measure].value for name, item in self.pipelines.items()
            },
            "differences": {name: asdict(item) for name, item in self.differences.items()},
            "opposite": {name: asdict(item) for name, item in self.opposite.items()},
            "latency_p50_ms": {
                name: item.p50.value for name, item in self.pipelines.items() if item.p50
            },
            "trials": [item.as_json() for item in self.trials],
        }
