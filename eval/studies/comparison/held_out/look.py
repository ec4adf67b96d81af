"""A look at the held-out questions of a project: is a pipeline better than the incumbent?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import sqrt
from pathlib import Path

import numpy as np

from assay.eval.collections.collection import Collection
from assay.eval.collections.loading import load
from assay.eval.configs.locations import find_project
from assay.eval.report.blocks import Facts, Prose, Report
from assay.eval.report.formats import count, signed
from assay.eval.running.experiment import Experiment, find_run
from assay.eval.runs import environment
from assay.eval.runs.execution.execution import make_ready
from assay.eval.runs.execution.unstored import search_unstored
from assay.eval.runs.json_form import in_json, to_json
from assay.eval.runs.stored import StoredRun, describe_degraded
from assay.eval.runs.summary.claims import Claims
from assay.eval.scoring.measures import HEADLINE, check_rising
from assay.eval.statistics.looks import LEVEL, LOOKS, find_least, is_better
from assay.eval.statistics.significance import ALPHA
from assay.eval.studies.comparison.differences import Contrast, judge_claims
from assay.eval.studies.comparison.held_out.ledger import (
    FILE,
    Look,
    Question,
    adding,
    check_left,
    count_left,
    mark_questions,
    read_looks,
)
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.store.digest import digest

# Keys of a config that change no ranking, or that name the questions.
OTHER = {"name", "description", "measures", "dataset", "latency", "limit"}
METHOD = (
    f"Each collection of held-out questions has {LOOKS} looks. A look says better if the one-sided "
    f"p is at most {LEVEL:g}, so that the chance of any false one is {ALPHA:g}, however the "
    "pipelines were found; it shows no figure, since whoever sees figures of held-out questions "
    "chooses by them. A look is spent only on a pipeline that leads on the development questions, "
    "by a standard error over those looked at before."
)


@in_json(..., "verdict", but=("names",), base="names.0", other="names.1")
@dataclass(frozen=True)
class HeldOut:
    """The answer of held-out questions on a pipeline.

    Attributes:
        names: The incumbent and the pipeline.
        measure: The measure.
        held_out: The name of the held-out questions, and `questions` their number.
        gain: The mean difference on the development questions.
        least: The gain above which it leads, by those that were looked at before.
        better: True if the pipeline is better on the held-out questions; None if these were not
            looked at, as it does not lead on the others.
        spent: The number of looks that this answer cost: 0 or 1.
        left: The number of looks that are left.
        answered: The day on which the same was asked before; "" if it was not.

    """

    names: tuple[str, str]
    measure: str
    held_out: str
    questions: int
    gain: float
    least: float
    better: bool | None
    spent: int
    left: int
    answered: str = ""

    @property
    def verdict(self) -> str:
        """The answer, and its cost, in two sentences."""
        base, other = self.names
        on = f"the {count(self.questions, 'held-out question')}"
        left = f"{count(self.left, 'look')} left."
        if self.better is None:
            return (
                f"{other} does not lead on the development questions: its gain in {self.measure} "
                f"over {base} is {signed(self.gain)}, and a look takes more than "
                f"{signed(self.least)}. {on[0].upper()}{on[1:]} were not asked, and nothing is "
                f"spent: {left}"
            )
        word = "is better than" if self.better else "is not shown to be better than"
        told = f"{other} {word} {base} in {self.measure} on {on}."
        if self.answered:
            return f"{told} That was answered on {self.answered}, and nothing is spent: {left}"
        return f"{told} That was look {LOOKS - self.left} of {LOOKS}: {left}"


def look(systems: Sequence[Experiment], measures: Sequence[str], progress: Progress) -> HeldOut:
    """Ask the held-out questions whether the second of two systems is better than the first.

    The first of `measures` counts, else that of the project, which names the questions. Both are
    run on the development questions, and on the others only if the second leads there. The answer
    is entered in the ledger before it is returned. Raises AssayError if no look is left, the two
    sets of questions share one, or a system is degraded.
    """
    project = find_project()
    if project is None or project.held_out is None:
        name = systems[0].collection.card.name
        raise AssayError(
            f"{project.source if project else 'assay.toml'}: held_out: missing; name questions to "
            f'keep apart, such as held_out = "{name}:held-out"'
        )
    measure = check_rising(next(iter([*measures, *project.measures]), HEADLINE))
    if len(systems) != 2:
        raise AssayError(f"--held-out: compares 2 pipelines, not {len(systems)}")
    if any(system.plan.limit for system in systems):
        raise AssayError("limit: not with --held-out, where all questions are asked")
    held = load(project.held_out, progress)
    marks = mark_questions(query.text for query in held.queries)
    _check_apart(systems[0].collection, held)
    counted = Question(marks, "", "", "", "").list_counted(read_looks(Path(FILE)))
    runs = [find_run(system, progress) for system in systems]
    for run in runs:
        _check_whole(run)
    digests = [_identify(run) for run in runs]
    question = Question(marks, held.digest, digests[1], digests[0], measure)
    gain, error = _find_gain(runs, measure)
    base, other = (system.plan.name for system in systems)
    over = (digests[0], measure)
    least = find_least(
        error, [item.gain for item in counted if (item.incumbent_digest, item.measure) == over]
    )
    found = HeldOut(
        (base, other),
        measure,
        held.name,
        len(held.queries),
        gain,
        least,
        None,
        0,
        count_left(counted),
    )
    if known := question.find_answer(counted):
        return _repeat(found, known)
    left = check_left(counted, held.name)
    if gain <= least:
        return found
    progress.say(
        f"this is look {LOOKS - left + 1} of {LOOKS} at {held.name}: is {other} better than {base}?"
    )
    better = _ask(systems, held, measure, progress)
    with adding(Path(FILE)) as looks:
        counted = question.list_counted(looks)
        if known := question.find_answer(counted):
            return _repeat(found, known)
        left = check_left(counted, held.name) - 1
        looks.append(
            Look(
                date=f"{datetime.now(UTC):%Y-%m-%d}",
                held_out=held.name,
                marks=list(marks),
                content=question.content,
                pipeline=other,
                pipeline_digest=question.pipeline,
                incumbent=base,
                incumbent_digest=question.incumbent,
                measure=measure,
                gain=gain,
                better=better,
                left=left,
            )
        )
    return replace(found, better=better, spent=1, left=left)


def _repeat(found: HeldOut, known: Look) -> HeldOut:
    return replace(found, better=known.better, answered=known.date)


def _check_apart(development: Collection, held: Collection) -> None:
    """Raise AssayError if two sets of questions share one."""
    own = {" ".join(query.text.casefold().split()) for query in development.queries}
    for query in held.queries:
        if " ".join(query.text.casefold().split()) in own:
            raise AssayError(
                f"{held.name}: question {query.id} is in {development.name}, too; questions to "
                "develop on and held-out ones must differ"
            )


def _check_whole(run: StoredRun) -> None:
    if told := describe_degraded(run):
        raise AssayError(f"{run.manifest.name}: {told[0]}")


def _identify(run: StoredRun) -> str:
    """Return the digest of a pipeline: its settings, and what it says of its models and code."""
    settings = {key: value for key, value in run.manifest.config.items() if key not in OTHER}
    return digest(settings, run.manifest.facts)[:16]


def _find_gain(runs: Sequence[StoredRun], measure: str) -> tuple[float, float]:
    """Return the mean difference of two runs and its standard error, by question."""
    base, other = (run.score([measure])[measure] for run in runs)
    differences = np.array([other[query] - value for query, value in base.items()])
    n = len(differences)
    return float(differences.mean()), float(differences.std(ddof=1)) / sqrt(n) if n > 1 else 0.0


def _ask(systems: Sequence[Experiment], held: Collection, measure: str, progress: Progress) -> bool:
    """Run two systems on held-out questions, storing nothing; return True if one is better."""
    scores = []
    for system in progress.track(systems, "held-out questions", len(systems)):
        with system.build() as retriever:
            ready = make_ready(system.plan, retriever, held)
            facts = environment.describe()
            run = search_unstored(system.plan, retriever, held, ready, facts, {})
        _check_whole(run)
        scores.append(run.score([measure])[measure])
    claims = Claims.of_collection(held, held.queries)
    (judged,) = judge_claims([Contrast(measure, "", *scores)], claims)
    return is_better(judged.leading.difference.value, judged.leading.p)


def report(found: HeldOut) -> Report:
    """Return the report of an answer: the verdict, and how it came about."""
    base, other = found.names
    facts = [
        ("Development questions", f"{signed(found.gain)} in {found.measure}"),
        ("Looks", f"{found.spent} spent, {found.left} of {LOOKS} left; {FILE} has them"),
    ]
    return Report(
        id=f"look-{digest(to_json(found))[:8]}",
        kind="look",
        title=f"{other} against {base} on {found.held_out}",
        subject=(count(found.questions, "question"),),
        verdict=[found.verdict],
        blocks=[Facts("What it cost", facts), Prose("Looks", METHOD)],
        environment=environment.describe(),
    )
