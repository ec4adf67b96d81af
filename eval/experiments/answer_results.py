"""What `assay answer` should cost, and what came of it: the answers of runs and their scores."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import fsum
from pathlib import Path
from typing import Any

from eval.analysis.answering import list_values
from eval.experiments.answer_prompts import Task
from eval.runs.answered import Recipe, StoredAnswer
from eval.runs.stored import StoredRun
from eval.statistics.estimates import Estimate
from retrievers.language_models.estimates import DryRun
from retrievers.language_models.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a task should ask and cost."""

    task: Task
    counted: DryRun

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {
            "runs": [run.manifest.id for run in self.task.runs],
            "queries": sum(len(cases) for _, cases in self.task.cases),
        } | self.counted.as_json()


@dataclass(frozen=True)
class Result:
    """The answers of a run: the mean of each measure, and what they took.

    `abstained` is the share of queries that got no answer, of those that nothing answers (right)
    and of the others (wrong); None where there are none. `means` are over the queries asked, which
    may be a sample.
    """

    run: StoredRun
    path: Path
    recipe: Recipe
    answers: Sequence[StoredAnswer]
    means: Mapping[str, Estimate]
    rightly_abstained: Estimate | None
    wrongly_abstained: Estimate | None

    @property
    def endings(self) -> dict[str, int]:
        """How many answers were refused or cut off, or not asked for as nothing was returned."""
        found = [answer.ending for answer in self.answers]
        return {name: found.count(name) for name in ("refusal", "length", "unasked")}

    @property
    def usd(self) -> float | None:
        """What the answers cost, whenever they were paid for; None where that is not known."""
        costs = [answer.usd for answer in self.answers]
        return None if None in costs else fsum(cost for cost in costs if cost is not None)

    @property
    def tokens(self) -> int:
        """The tokens of prompts and answers, as far as they are known."""
        return sum((row.prompt_tokens or 0) + (row.output_tokens or 0) for row in self.answers)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {
            "run": self.run.manifest.id,
            "collection": self.run.manifest.collection.name,
            "recipe": asdict(self.recipe),
            "queries": len(self.answers),
            "measures": {name: list_values(mean) for name, mean in self.means.items()},
            "abstained": {
                "unanswered": list_values(self.rightly_abstained),
                "answered": list_values(self.wrongly_abstained),
            },
            "endings": self.endings,
            "tokens": self.tokens,
            "usd": self.usd,
            "file": str(self.path),
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results by run, the ids of their MLflow runs, and the ledger, if anything was asked."""

    results: Sequence[Result]
    tracked: Sequence[str | None]
    ledger: Ledger | None

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
