"""A language model is to judge a pool: what it is asked, and what that should cost."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.eval.collections.authoring.worksheet import Pair
from assay.eval.configs.resources import make_resources
from assay.eval.llm.model_choice import read_settings
from assay.eval.studies.judging.grades import GradeFile
from assay.eval.studies.judging.model_grades import AGAIN, find_model_file, name_judge, take
from assay.eval.studies.judging.prompts import Form, Scale
from assay.eval.studies.judging.sheet import Sheet
from assay.retrievers.base import Progress
from assay.retrievers.language_models.answers import AnswerCache
from assay.retrievers.language_models.base import LanguageModel, Prompt
from assay.retrievers.language_models.client import CallSettings, find_prices
from assay.retrievers.language_models.estimates import DryRun
from assay.retrievers.settings import Resources

MAX_TOKENS = 50
MAX_TOKENS_QUOTED = 500  # a reply that quotes


@dataclass(frozen=True, slots=True)
class GradeRequest:
    """One grade to ask for; `again` is the second time, with the passage before the query."""

    pair: Pair
    again: bool


@dataclass(frozen=True)
class JudgingJob:
    """What is asked: the pairs of a table in a blind order, by which form and of which model."""

    table: Path
    sheet: Sheet
    form: Form
    scale: Scale
    asked: tuple[GradeRequest, ...]
    model: LanguageModel
    settings: CallSettings
    resources: Resources

    @property
    def judge(self) -> str:
        """What its judgments call the model."""
        return name_judge(self.model.name, self.form.digest)

    @cached_property
    def known(self) -> frozenset[tuple[str, bool]]:
        """The pairs whose grades are kept, by digest and whether it is the second."""
        path = find_model_file(self.table)
        if not path.exists():
            return frozenset()
        with closing(GradeFile(path)) as grades:
            graded = grades.read_grades()
        first, second = take(graded, self.judge), take(graded, self.judge + AGAIN)
        return frozenset({(i, False) for i in first} | {(i, True) for i in second})

    @property
    def pending(self) -> list[GradeRequest]:
        """What there is no grade for yet."""
        return [one for one in self.asked if (one.pair.digest, one.again) not in self.known]

    def prompt(self, asking: GradeRequest) -> tuple[Prompt, Prompt]:
        """Return what is sent, and what is after a reply that cannot be read."""
        first, second = (
            Prompt(self.form.instructions, question, shared=True)
            for question in self.form.ask(asking.pair, turned=asking.again)
        )
        return first, second

    def as_json(self) -> dict[str, Any]:
        """Return what is asked as JSON values."""
        return {
            "file": str(self.table),
            "grades": str(find_model_file(self.table)),
            "judge": self.judge,
            "pairs": len(self.sheet.pairs),
            "twice": sum(one.again for one in self.asked),
            "graded_before": len(self.known),
            "to_grade": len(self.pending),
            "highest_asked": self.scale.asked,
            "highest_counted": self.scale.counted,
            "budget_usd": self.settings.max_cost_usd,
        }


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What a job should use and cost."""

    job: JudgingJob
    counted: DryRun

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return self.job.as_json() | self.counted.as_json()


def prepare_job(
    table: Path,
    sheet: Sheet,
    form: Form,
    scale: Scale,
    options: dict[str, Any],
    *,
    twice: float,
    seed: int,
    progress: Progress,
) -> JudgingJob:
    """Put the pairs of `sheet` into a blind order by `seed`, a share of them to be asked twice."""
    resources = make_resources(progress)
    usual = MAX_TOKENS_QUOTED if form.spans else MAX_TOKENS
    if options.get("max_tokens") is None:
        options = {**options, "max_tokens": usual}
    model, settings = read_settings(options, resources)
    order = sheet.order("model", seed)
    share = round(twice * len(order)) or int(twice > 0)
    asked = [GradeRequest(sheet.by_digest[i], again=False) for i in order]
    asked += [GradeRequest(sheet.by_digest[i], again=True) for i in _spread(order, share)]
    return JudgingJob(table, sheet, form, scale, tuple(asked), model, settings, resources)


def estimate(job: JudgingJob) -> CostEstimate:
    """Return what a job should use and cost; nothing is asked."""
    prices = find_prices(job.model, job.settings)
    counted = DryRun(job.model, prices, AnswerCache(job.resources.cache, job.model))
    for asking in job.pending:
        counted.ask(job.prompt(asking)[0], job.form.example)
    return CostEstimate(job, counted)


def _spread(order: Sequence[str], count: int) -> list[str]:
    """Return `count` of `order`, evenly spaced."""
    return [order[i * len(order) // count] for i in range(count)]
