"""A job in which a language model judges a pool: its requests and the grades in the replies."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from assay.eval.llm.job import Ask, LlmJob
from assay.eval.llm.session import LlmSession
from assay.eval.running.study import Argument, Option
from assay.eval.running.study_options import LARGEST, AskedModelOptions, Reference
from assay.eval.runs.json_form import by, in_json, length
from assay.eval.scoring.measures import HEADLINE
from assay.eval.studies.judging.grades import GradeFile
from assay.eval.studies.judging.model_grades import (
    AGAIN,
    DECIDING,
    find_model_file,
    name_judge,
    take,
)
from assay.eval.studies.judging.prompts import Form, Reply, Scale
from assay.eval.studies.judging.sheet import Sheet
from assay.retrievers.language_models.base import Prompt
from assay.retrievers.services.errors import TooLongError

UNREADABLE = "twice no reply in the required form"
FIRST, SECOND, THIRD = range(3)
TURNS = ("", AGAIN, DECIDING)  # what is added to the judge's name
Turn = tuple[str, int]  # a pair's digest, and whether it is its first, second or third grade


class JudgeOptions(AskedModelOptions):
    """The pairs to grade, the model that grades them, and the runs to rank by the grades."""

    pool: Annotated[Reference, Argument("POOL|COLLECTION")]
    runs: Annotated[tuple[str, ...], Argument("[RUN]... [KEY.PATH=VALUE]...")] = ()
    collection: Annotated[str | None, Option(("--dataset", "--collection"))] = Field(
        None,
        description="Collection that is judged.  [default: what the pool's column says]",
    )
    output: Annotated[Path | None, Option(path="file")] = Field(
        None,
        description="Of a collection: the table of its judged pairs.  [default: NAME.judged.csv]",
    )
    queries: int | None = Field(
        None, ge=1, le=LARGEST, description="Of a collection: so many queries, drawn by chance."
    )
    guidelines: Annotated[Path | None, Option(path="file")] = Field(
        None, description="What to grade by.  [default: GUIDELINES.md]"
    )
    highest: int | None = Field(
        None,
        ge=1,
        le=9,
        description="The highest grade that counts; by default the highest given in the "
        "collection.",
    )
    spans: bool = Field(False, description="Ask for the words that answer, too.")
    twice: float = Field(0.1, ge=0, le=1, description="The share of pairs that is graded twice.")
    measure: str = Field(HEADLINE, description="What the runs are ranked by.")
    seed: int = Field(0, ge=0, le=LARGEST, description="Of order and draws.  [default: 0]")


@in_json(
    "judge",
    file="table",
    grades=by(find_model_file, "table"),
    pairs=length("sheet.pairs"),
    twice=length("twice"),
    graded_before=length("known"),
    to_grade=length("pending"),
    highest_asked="scale.asked",
    highest_counted="scale.counted",
    budget_usd="session.settings.max_cost_usd",
)
@dataclass(frozen=True)
class JudgingJob:
    """The pairs of a table in a blind order, the form of the prompts, and the model to ask.

    Attributes:
        table: The path of the table.
        sheet: The pairs and what a judge needs to know.
        form: The form of the prompts.
        scale: The conversion of grades to those of the collection.
        order: The digests of the pairs, in the order in which they are asked.
        twice: The digests of those that are graded twice.
        relevant: The least grade of the collection that is relevant.
        session: The model to ask.
    """

    table: Path
    sheet: Sheet
    form: Form
    scale: Scale
    order: tuple[str, ...]
    twice: frozenset[str]
    relevant: int
    session: LlmSession

    @property
    def judge(self) -> str:
        """The name of the model in its judgments."""
        return name_judge(self.session.model.name, self.form.digest)

    @cached_property
    def known(self) -> Mapping[Turn, int]:
        """The stored grades, in the grades of the collection."""
        path = find_model_file(self.table)
        if not path.exists():
            return {}
        with closing(GradeFile(path)) as grades:
            graded = grades.read_grades()
        return {
            (pair, turn): one.grade
            for turn, suffix in enumerate(TURNS)
            for pair, one in take(graded, self.judge + suffix).items()
        }

    @property
    def pending(self) -> list[Turn]:
        """The grades that are not stored yet, of those that are asked for in any case."""
        wanted = [(i, FIRST) for i in self.order] + [(i, SECOND) for i in sorted(self.twice)]
        return [one for one in wanted if one not in self.known]

    @cached_property
    def asking(self) -> LlmJob[str, dict[Turn, Reply | str]]:
        """The job of asking for all grades not stored yet; a text result says why there is none."""
        tasks = {i: partial(_grade, self, i) for i in self.order if self._is_open(i)}
        session = self.session
        about = [sorted(self.sheet.by_digest), session.model.identity, self.form.digest]
        return LlmJob(session, tasks, "judging", about)

    def _is_open(self, pair: str) -> bool:
        first, second, third = (self.known.get((pair, turn)) for turn in (FIRST, SECOND, THIRD))
        if first is None or (second is None and pair in self.twice):
            return True
        return third is None and second is not None and self.are_apart(first, second)

    def are_apart(self, first: int, second: int) -> bool:
        """Return True if one of two counted grades is relevant and the other is not."""
        return (first >= self.relevant) != (second >= self.relevant)

    def run(self) -> list[Reply | str]:
        """Ask for all grades not stored yet; those of a pair are stored as soon as they arrive.

        Raises AssayError as `LlmJob.run` does.
        """
        if not self.asking.tasks:
            return []
        with closing(GradeFile(find_model_file(self.table))) as grades:

            def keep(_: str, replies: Mapping[Turn, Reply | str]) -> None:
                for (pair, turn), reply in replies.items():
                    if isinstance(reply, Reply):
                        grade = self.scale.count(reply.grade)
                        span = reply.span if grade else None
                        grades.add(pair, self.judge + TURNS[turn], grade, span)

            found = self.asking.run(keep)
        return [reply for replies in found.values() for reply in replies.values()]


def prepare_job(
    table: Path,
    sheet: Sheet,
    form: Form,
    scale: Scale,
    relevant: int,
    session: LlmSession,
    asked: JudgeOptions,
) -> JudgingJob:
    """Return the job: the pairs of `sheet` in a blind order, and a share of them a second time."""
    order = sheet.order("model", asked.seed)
    share = round(asked.twice * len(order)) or int(asked.twice > 0)
    twice = frozenset(_spread(order, share))
    return JudgingJob(table, sheet, form, scale, tuple(order), twice, relevant, session)


def _grade(job: JudgingJob, digest: str, ask: Ask) -> dict[Turn, Reply | str]:
    """Return the grades of a pair that are not stored, or in their place why there is none.

    The second has the passage first. Where one of two is relevant and the other is not, a third
    decides.
    """
    found: dict[Turn, Reply | str] = {}
    counted: list[int] = []
    for turn in (FIRST, SECOND, THIRD):
        if turn == SECOND and digest not in job.twice:
            break
        if turn == THIRD and (len(counted) < THIRD or not job.are_apart(*counted)):
            break
        grade = job.known.get((digest, turn))
        if grade is None:
            reply = _ask(job, digest, ask, turn)
            found[digest, turn] = reply
            if isinstance(reply, str):
                continue
            grade = job.scale.count(reply.grade)
        counted.append(grade)
    return found


def _ask(job: JudgingJob, digest: str, ask: Ask, turn: int) -> Reply | str:
    """Return a grade, or a phrase that says why there is none."""
    form, pair = job.form, job.sheet.by_digest[digest]
    for question in form.ask(pair, turned=turn == SECOND, apart=turn == THIRD):
        try:
            answer = ask(Prompt(form.instructions, question, True, form.make_example(pair)))
        except TooLongError:
            return "longer than the model can read"
        if answer.ending == "refusal":
            return f"refused: {answer.note}" if answer.note else "refused"
        if reply := form.read(answer.text, pair):
            return reply
    return UNREADABLE


def _spread(order: Sequence[str], count: int) -> list[str]:
    """Return `count` items of `order`, evenly spaced."""
    return [order[i * len(order) // count] for i in range(count)]


@in_json("warnings", spread=("job",))
@dataclass(frozen=True)
class JobWarnings:
    """A job of grading, and warnings about the judging model."""

    job: JudgingJob
    warnings: list[str]
