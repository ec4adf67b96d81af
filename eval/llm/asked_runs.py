"""What came of asking a language model about stored runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from assay.retrievers.services.ledger import CostLedger


class RunFinding(Protocol):
    """What was found of one run, and the file in its folder that holds it."""

    @property
    def path(self) -> Path: ...  # noqa: D102

    def as_json(self) -> dict[str, Any]: ...  # noqa: D102


R = TypeVar("R", bound=RunFinding)


@dataclass(frozen=True, slots=True)
class AskedRuns(Generic[R]):
    """The results by run, and the id of the MLflow run of each, None where it has none.

    `ledger` is None where nothing was asked.
    """

    results: Sequence[R]
    tracked: Sequence[str | None]
    ledger: CostLedger | None

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        runs = [
            {**result.as_json(), "file": str(result.path), "mlflow_run": run_id}
            for result, run_id in zip(self.results, self.tracked, strict=True)
        ]
        ledger = self.ledger
        asked = ledger and {**ledger.as_json(), "budget_usd": ledger.budget}
        return {"runs": runs, "asked": asked}
