"""A job in which a language model judges a pool: its requests and the grades in the replies."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from assay.eval.collections.authoring.worksheet import Pair
from assay.eval.llm.job import Ask, LlmJob
from assay.eval.llm.session import LlmSession
from assay.eval.running.study import Argument, Option
from assay.eval.running.study_options import LARGEST, AskedModelOptions, Reference
from assay.eval.scoring.measures import HEADLINE
from assay.eval.studies.judging.grades import GradeFile
from assay.eval.studies.judging.model_grades import AGAIN, find_model_file, name_judge, take
from assay.eval.studies.judging.prompts import Form, Reply, Scale
from assay.eval.studies.judging.sheet import Sheet
from assay.retrievers.language_models.base import Prompt
from assay.retrievers.services.errors import TooLongError

UNREADABLE = "twice no reply in the required form"


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


@dataclass(frozen=True, slots=True)
class GradeRequest:
    """A request for one grade; `again` is True for the second time, with the passage first."""

    pair: Pair
    again: bool


@dataclass(frozen=True)
class JudgingJob:
    """The pairs of a table in a blind order, the form of the prompts, and the model to ask.

    Attributes:
        table: The path of the table.
        sheet: The pairs and what a judge needs to know.
        form: The form of the prompts.
        scale: The conversion of grades to those of the collection.
        asked: The requested grades.
        session: The model to ask.
    """

    table: Path
    sheet: Sheet
    form: Form
    scale: Scale
    asked: tuple[GradeRequest, ...]
    session: LlmSession

    @property
    def judge(self) -> str:
        """The name of the model in its judgments."""
        return name_judge(self.session.model.name, self.form.digest)

    @cached_property
    def known(self) -> frozenset[tuple[str, bool]]:
        """The pairs with a stored grade: the digest, and True if it is the second grade."""
        path = find_model_file(self.table)
        if not path.exists():
            return frozenset()
        with closing(GradeFile(path)) as grades:
            graded = grades.read_grades()
        first, second = take(graded, self.judge), take(graded, self.judge + AGAIN)
        return frozenset({(i, False) for i in first} | {(i, True) for i in second})

    @property
    def pending(self) -> list[GradeRequest]:
        """The requests that have no stored grade yet."""
        return [one for one in self.asked if (one.pair.digest, one.again) not in self.known]

    def prompt(self, asking: GradeRequest) -> tuple[Prompt, Prompt]:
        """Return the first prompt, and the one to send after an unreadable reply."""
        first, second = (
            Prompt(self.form.instructions, question, True, self.form.make_example(asking.pair))
            for question in self.form.ask(asking.pair, turned=asking.again)
        )
        return first, second

    @cached_property
    def asking(self) -> LlmJob[GradeRequest, Reply | str]:
        """The job of asking for all grades not stored yet; a text result says why there is none."""
        tasks = {one: partial(_grade, self, one) for one in self.pending}
        session = self.session
        about = [sorted(self.sheet.by_digest), session.model.identity, self.form.digest]
        return LlmJob(session, tasks, "judging", about)

    def run(self) -> dict[GradeRequest, Reply | str]:
        """Ask for all grades not stored yet; each is stored as soon as it arrives.

        Raises AssayError as `LlmJob.run` does.
        """
        if not self.pending:
            return {}
        with closing(GradeFile(find_model_file(self.table))) as grades:

            def keep(one: GradeRequest, reply: Reply | str) -> None:
                if isinstance(reply, Reply):
                    judge = self.judge + AGAIN if one.again else self.judge
                    grade = self.scale.count(reply.grade)
                    grades.add(one.pair.digest, judge, grade, reply.span if grade else None)

            return self.asking.run(keep)

    def as_json(self) -> dict[str, Any]:
        """Return the request as JSON values."""
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
            "budget_usd": self.session.settings.max_cost_usd,
        }


def prepare_job(
    table: Path, sheet: Sheet, form: Form, scale: Scale, session: LlmSession, asked: JudgeOptions
) -> JudgingJob:
    """Return the job: the pairs of `sheet` in a blind order, and a share of them a second time."""
    order = sheet.order("model", asked.seed)
    share = round(asked.twice * len(order)) or int(asked.twice > 0)
    requests = [GradeRequest(sheet.by_digest[i], again=False) for i in order]
    requests += [GradeRequest(sheet.by_digest[i], again=True) for i in _spread(order, share)]
    return JudgingJob(table, sheet, form, scale, tuple(requests), session)


def _grade(job: JudgingJob, request: GradeRequest, ask: Ask) -> Reply | str:
    """Return a grade, or a phrase that says why there is none."""
    for prompt in job.prompt(request):
        try:
            answer = ask(prompt)
        except TooLongError:
            return "longer than the model can read"
        if answer.ending == "refusal":
            return f"refused: {answer.note}" if answer.note else "refused"
        if reply := job.form.read(answer.text, request.pair):
            return reply
    return UNREADABLE


def _spread(order: Sequence[str], count: int) -> list[str]:
    """Return `count` items of `order`, evenly spaced."""
    return [order[i * len(order) // count] for i in range(count)]
