"""The result of choosing a pipeline, and its conclusion in words."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

from assay.eval.configs.config import RunConfig
from assay.eval.report.formats import amount, count, score
from assay.eval.running.search_space import Point
from assay.eval.runs.json_form import in_json
from assay.eval.runs.summary.claims import Claims
from assay.eval.statistics.estimates import Estimate, OpenEstimate
from assay.eval.statistics.significance import TIE
from assay.eval.studies.comparison.differences import Difference
from assay.eval.studies.comparison.words import conclude_opposite, tell_change

GIVEN = "as given"
LEGS = "legs"  # the stage in which each leg is tried alone
FEWEST = 30  # queries; with fewer, half of them cannot judge a choice


def describe_few(questions: int) -> str:
    """Return a sentence that the questions are too few to choose a pipeline."""
    return (
        f"You have {count(questions, 'question')}; choosing needs {FEWEST}. Add "
        f"{FEWEST - questions}, or see only what scores highest."
    )


@in_json(..., mean="mean.value")
@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate of a stage.

    Attributes:
        stage: The name of the stage.
        steps: All differences from the config as given, in words, its own last.
        point: The settings.
        mean: The mean over the queries of the choice; None if it was left out.
        left_out: The reason why it was left out.
    """

    stage: str
    steps: tuple[str, ...]
    point: Point
    mean: Estimate | None
    left_out: str = ""

    @property
    def words(self) -> str:
        """The differences from the config as given, in words."""
        return ", ".join(self.steps) or GIVEN

    @property
    def own(self) -> str:
        """The change made by the candidate itself, in words."""
        return self.steps[-1] if self.steps else GIVEN


@dataclass(frozen=True, slots=True)
class JudgedPipeline:
    """A pipeline that was run on all queries.

    `means` are by measure, over the queries to judge by, or over all if there are none; `latency`
    has percentiles of the milliseconds per query, and is empty if nothing was timed.
    """

    means: Mapping[str, Estimate]
    latency: Mapping[str, OpenEstimate]

    @property
    def p50(self) -> OpenEstimate | None:
        """The median in ms; None if nothing was timed."""
        return self.latency.get("p50")


# The keys that tell how a choice was judged on its collection.
JUDGED = ("chosen_on", "judged", "grouped_by", "means", "differences", "opposite")
ON_COLLECTION = {
    "collection": "config.dataset",
    "claim": "claims",
    "latency_p50_ms": "medians",
}


@in_json(
    "measure",
    "conclusion",
    "best",
    "trials",
    *JUDGED,
    base="config.name",
    ships="shipped_settings",
    **ON_COLLECTION,
)
@dataclass(frozen=True)
class Choice:
    """The result of choosing a pipeline.

    Attributes:
        config: The config as given.
        chosen: The config of the best candidate.
        measure: The measure of the choice.
        trials: All candidates.
        best: The candidate with the highest mean on the queries of the choice.
        chosen_on: The number of queries of the choice.
        judged: The number of other queries, which the choice is judged on.
        grouped_by: The property by which queries were kept together in one half.
        pipelines: The pipelines run on all queries: "best", "base" and "bm25".
        differences: The differences of the best from the config as given ("base") and from BM25
            alone ("bm25") on the judged queries, as one family; without the best itself, and empty
            if no query is left to judge by.
        opposite: The same differences by the claim that does not lead.
        claims: The claims that the questions support.
        asked: The digest of the request.
        environment: The environment of the choice.
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
        """The name of its files, made of the config and the collection."""
        name = f"{self.config.name}-{Path(self.config.dataset).name}"
        return re.sub(r"[^A-Za-z0-9_.-]+", ".", name)

    @property
    def ships(self) -> bool:
        """True if the best candidate is shown to be better than the config as given."""
        found = self.differences.get("base")
        return bool(found and found.verdict == "better")

    @property
    def shipped(self) -> RunConfig:
        """The pipeline to ship."""
        return self.chosen if self.ships else self.config

    @property
    def kept(self) -> list[Trial]:
        """The candidates that led when their stage ended, on which the next stage built."""
        led: dict[str, Trial] = {}
        best = -1.0
        for item in self.trials:
            if item.mean is not None and item.mean.value > best + TIE:
                best, led[item.stage] = item.mean.value, item
        return list(led.values())

    @property
    def name(self) -> str:
        """The best candidate in words: the config with its differences, or the single leg."""
        steps = self.best.steps
        if not steps:
            return f"{self.config.name}, {GIVEN}"
        alone = self.best.stage == LEGS
        return steps[0] if alone else f"{self.config.name} with {self.best.words}"

    @property
    def conclusion(self) -> str:
        """The pipeline to ship and the evidence for it, in a few sentences."""
        told = [self._conclude()]
        if self.judged:
            told += [self.claims.sentence, self._tell_opposite()]
        return " ".join(filter(None, told))

    def _tell_opposite(self) -> str:
        """Return the verdict of the other claim on the best candidate; "" if it is the same."""
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
        """Return a warning if the pipeline to ship is not shown to be better than BM25 alone."""
        found = self.differences.get("bm25")
        if found is None or found.verdict == "better":
            return ""
        told = "worse" if found.shown else "not shown to be better"
        change = tell_change(found)
        return f" It is {told} than BM25 alone, which costs least: {change}."

    def _describe_needed(self, found: Difference) -> str:
        """Return a sentence on the number of questions that would show a gain of this size."""
        gain = found.difference.value
        if gain <= 0 or not found.detectable:
            return ""
        needed = ceil(found.n * (found.detectable / gain) ** 2) * 2
        return (
            f" A gain of that size would most likely be found by about {needed:,} questions; there "
            f"are {self.chosen_on + self.judged:,}."
        )

    def describe_latency(self) -> str:
        """Describe the median time of a query; "" if nothing was timed."""
        named = {"best": "the best candidate", "base": self.config.name, "bm25": "BM25 alone"}
        shown = ["base", "bm25"] if not self.best.point else ["best", "base", "bm25"]
        told = [
            f"{amount(median.value)} ms {named[name]}"
            for name in shown
            if (median := self.pipelines[name].p50)
        ]
        return f"Median time of a query, timed by turns: {', '.join(told)}." if told else ""

    @property
    def shipped_settings(self) -> Point:
        """The settings of the pipeline to ship; {} if it is the config as given."""
        return self.best.point if self.ships else {}

    @property
    def means(self) -> dict[str, float]:
        """The mean of the measure of each pipeline."""
        return {name: item.means[self.measure].value for name, item in self.pipelines.items()}

    @property
    def medians(self) -> dict[str, float]:
        """The median milliseconds of each pipeline that was timed."""
        return {name: item.p50.value for name, item in self.pipelines.items() if item.p50}
