"""The result of a job of writing questions."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from assay.eval.runs.json_form import in_json
from assay.eval.studies.questions.job import QuestionJob
from assay.eval.studies.questions.selection import QuestionSelection
from assay.eval.studies.questions.sources import QuestionSource
from assay.retrievers.services.ledger import CostLedger


@dataclass(frozen=True)
class Target:
    """The folder and the name of a collection of questions to write."""

    source: QuestionSource
    name: str
    folder: Path


@in_json(spread=("job", "made"), calls="ledger.account")
@dataclass(frozen=True)
class QuestionsResult:
    """The outcomes of all draws. `card` is that of the collection, None if nothing was kept."""

    job: QuestionJob
    made: QuestionSelection
    ledger: CostLedger
    target: Target
    card: Path | None = None
    written_on: str = field(default_factory=lambda: datetime.now(UTC).date().isoformat())
