"""Fit the threshold below which a pipeline returns nothing."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assay.eval.configs.config import RunConfig, load_config
from assay.eval.running.result_files import StoredResult, check_place, write_result
from assay.eval.running.run import make_run
from assay.eval.runs import environment
from assay.eval.runs.json_form import in_json
from assay.eval.runs.stored import StoredRun
from assay.eval.runs.summary.claims import Claims
from assay.eval.runs.summary.means import average_shares
from assay.eval.runs.summary.unanswerable_queries import (
    RERANK,
    Abstention,
    Signal,
    examine_answering,
    find_signals,
    find_unanswered,
)
from assay.eval.statistics.estimates import Estimate
from assay.eval.statistics.roc import fit_threshold
from assay.eval.studies.tuning.tuned_config import render_changes
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.pipeline.pipeline import PipelineSettings
from assay.retrievers.store.digest import digest

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)
DIGITS = 4
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class Trade:
    """A threshold, and the shares of queries that it leaves without results.

    `rightly_empty` is None if the collection has no unanswered queries.
    """

    minimum: float
    falsely_empty: Estimate
    rightly_empty: Estimate | None


@in_json(
    "stage",
    spread=("chosen",),
    config="settings.name",
    collection="run.manifest.collection.name",
    run="run.manifest.id",
    claim="claims",
    trade="trades",
    auc="signals",
)
@dataclass(frozen=True)
class FittedThreshold:
    """A fitted threshold.

    Attributes:
        config: The reference of the config.
        settings: The config.
        run: The run that the threshold was fitted on.
        signal: The score that it applies to.
        share: The share of answered queries that may be left without results.
        asked: The digest of the request.
    """

    config: str
    settings: RunConfig
    run: StoredRun
    signal: Signal
    share: float
    asked: str

    @cached_property
    def answering(self) -> Abstention | None:
        """The separation of unanswered queries by every score; None if there are none."""
        return examine_answering(self.run)

    @cached_property
    def claims(self) -> Claims:
        """The claims that the shares of queries support."""
        return Claims.of(self.run)

    @cached_property
    def chosen(self) -> Trade:
        """The threshold for the requested share."""
        return self.trade(self.share)

    @cached_property
    def trades(self) -> Sequence[Trade]:
        """Different thresholds, ascending: for the requested share, and for `SHARES`.

        With few queries several shares may have the same threshold.
        """
        trades = map(self.trade, sorted({*SHARES, self.share}))
        return list({trade.minimum: trade for trade in trades}.values())

    @property
    def stage(self) -> dict[str, Any]:
        """The stage to insert into a config."""
        of = {} if self.signal.step == RERANK else {"of": self.signal.step}
        return {"type": "threshold", **of, "minimum": self.chosen.minimum}

    @property
    def id(self) -> str:
        """The id of the report, equal for the same pipeline, queries and share."""
        name = f"threshold-{self.settings.name}-{self.run.manifest.collection.name}"
        return f"{re.sub(NOT_IN_NAMES, '.', name)}-{self.asked[:8]}"

    @cached_property
    def environment(self) -> Mapping[str, Any]:
        """The environment in which the threshold was fitted."""
        return environment.describe()

    def trade(self, share: float) -> Trade:
        """Return the highest threshold that leaves at most `share` of answered queries empty."""
        minimum = _round_down(fit_threshold(self.signal.answered, share))
        unanswered = find_unanswered(self.run)
        queries = (
            [query for query in self.run.queries if query not in unanswered],
            [query for query in self.run.queries if query in unanswered],
        )
        answered, empty = (
            {id_: score < minimum for id_, score in zip(ids, scores, strict=True)}
            for ids, scores in zip(
                queries, (self.signal.answered, self.signal.unanswered), strict=True
            )
        )
        return Trade(
            minimum,
            average_shares(answered, self.claims),
            average_shares(empty, self.claims) if empty else None,
        )

    def write(self, path: Path, force: bool) -> str:
        """Write the config with the threshold to `path`.

        Returns a message about an earlier file at `path`: see `write_result`.
        """
        stages = [stage.model_dump(mode="json") for stage in _pipeline(self.settings).stages]
        for i in _places(stages, self.signal.step):
            placed = [*stages[:i], self.stage, *stages[i:]]
            try:
                changed = _replace_stages(self.settings, placed)
                break
            except ValidationError:
                continue
        else:
            raise AssayError(f"{self.config}: no place among its stages for a threshold")
        empty = self.chosen.falsely_empty.value
        described = (
            f"nothing where {self.signal.words} is below {self.chosen.minimum:g}, which is so of "
            f"{100 * empty:.1f} % of the answered queries of {self.settings.dataset}, by: "
            f"{environment.command_line()}"
        )
        named = {"name": f"{self.settings.name}_threshold", "description": described}
        text = render_changes(path, Path(self.config), changed.model_copy(update=named))
        result = StoredResult("threshold", self.asked, text)
        return write_result(path, result, named=True, force=force)[1]

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The scores that could tell; empty if each query has an answer, or none."""
        return self.answering.signals if self.answering else ()


def fit(
    config: str,
    overrides: Sequence[str],
    of: str,
    share: float,
    progress: Progress,
    output: Path | None = None,
) -> FittedThreshold:
    """Fit the threshold of a pipeline on the answered queries of its collection.

    The pipeline runs without thresholds. `of` is a semantic leg or `rerank`; by default `rerank` if
    the pipeline reranks, else the first semantic leg. Unanswered queries do not influence the
    choice: they only show its effect. Raises AssayError, before any work if `output` is a different
    file.
    """
    settings = load_config(config, overrides)
    allowed = _list_steps(settings, config)
    if of and of not in allowed:
        raise AssayError(
            f"--of {of}: has no scores that a threshold can apply to; allowed: {', '.join(allowed)}"
        )
    step = of or allowed[0]
    asked = digest("threshold", [settings, step, share])
    if output:
        check_place(output, asked)
    run = make_run(_without_thresholds(settings), False, progress).run
    signal = next(
        (item for item in find_signals(run) if (item.step, item.kind) == (step, "best")), None
    )
    if signal is None or not signal.answered:
        raise AssayError(
            f"{run.manifest.collection.name}: something must be found for queries that something "
            "answers, and there are none; allowed: a collection with answered queries"
        )
    fitted = FittedThreshold(config, settings, run, signal, share, asked)
    if not math.isfinite(fitted.chosen.minimum):
        raise AssayError(
            f"--false-empty {share:g}: {step} finds nothing for more of the queries than that"
        )
    return fitted


def _list_steps(settings: RunConfig, config: str) -> list[str]:
    """Return the steps whose scores a threshold can apply to, the default first."""
    pipeline = _pipeline(settings)
    reranked = [RERANK] if any(stage.type == RERANK for stage in pipeline.stages) else []
    legs = [name for name, leg in pipeline.active.items() if leg.kind == "semantic"]
    if not reranked and not legs:
        raise AssayError(
            f"{config}: a threshold needs the stage rerank or a semantic leg; scores of other legs "
            "and fused ones do not say how well a query is answered"
        )
    return [*reranked, *legs]


def _pipeline(settings: RunConfig) -> PipelineSettings:
    if not isinstance(settings.retriever, PipelineSettings):
        raise AssayError("retriever: a threshold is a stage of a pipeline; this is none")
    return settings.retriever


def _without_thresholds(settings: RunConfig) -> RunConfig:
    """Return the config without thresholds and without timing."""
    stages = [stage.model_dump(mode="json") for stage in _pipeline(settings).stages]
    latency = settings.latency.model_copy(update={"queries": 0})
    kept = [stage for stage in stages if stage["type"] != "threshold"]
    return _replace_stages(settings, kept).model_copy(update={"latency": latency})


def _replace_stages(settings: RunConfig, stages: Sequence[Mapping[str, Any]]) -> RunConfig:
    """Return the config with other stages. Raises ValidationError if they do not fit."""
    values = settings.model_dump(mode="json")
    return RunConfig.model_validate(
        {**values, "retriever": {**values["retriever"], "stages": list(stages)}}
    )


def _places(stages: Sequence[Mapping[str, Any]], step: str) -> list[int]:
    """Return the indexes in `stages` to insert a threshold by `step` at, the best first."""
    types = [stage["type"] for stage in stages]
    return [types.index(RERANK) + 1] if step == RERANK else list(range(len(stages) + 1))


def _round_down(value: float) -> float:
    """Return `value` rounded down to `DIGITS` significant digits."""
    if not math.isfinite(value) or value == 0:
        return value
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - DIGITS + 1)
    return float(f"{math.floor(value / unit) * unit:.{DIGITS}g}")
