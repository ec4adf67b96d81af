"""What `assay answer` should cost, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.eval.runs.summary.generated_answers import Answers
from assay.eval.studies.answers.prompts import AnswerTask
from assay.retrievers.language_models.estimates import DryRun
from assay.retrievers.services.ledger import CostLedger


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What a task should ask and cost."""

    task: AnswerTask
    counted: DryRun

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {
            "runs": [run.manifest.id for run in self.task.runs],
            "queries": sum(len(cases) for _, cases in self.task.cases),
        } | self.counted.as_json()


@dataclass(frozen=True, slots=True)
class AnswersOutcome:
    """The results by run, the ids of their MLflow runs, and the ledger, if anything was asked."""

    results: Sequence[Answers]
    tracked: Sequence[str | None]
    ledger: CostLedger | None

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        runs = [
            {**result.as_json(), "mlflow_run": id_}
            for result, id_ in zip(self.results, self.tracked, strict=True)
        ]
        asked = self.ledger and {
            "run": self.ledger.run.as_json(),
            "earlier": self.ledger.earlier.as_json(),
            "budget_usd": self.ledger.budget,
        }
        return {"runs": runs, "asked": asked}
