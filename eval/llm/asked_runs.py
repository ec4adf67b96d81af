"""The results of asking a language model about stored runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from assay.eval.llm.costs import account
from assay.eval.report.blocks import Facts
from assay.eval.running.study import Lab, Written
from assay.eval.runs.json_form import in_json
from assay.eval.runs.stored import StoredRun
from assay.eval.tracking.delivery import add_to_run
from assay.retrievers.services.ledger import CostLedger


class RunFinding(Protocol):
    """The findings for one run, and the file in its folder that holds them."""

    @property
    def run(self) -> StoredRun: ...  # noqa: D102

    @property
    def path(self) -> Path: ...  # noqa: D102


R = TypeVar("R", bound=RunFinding)


@in_json(runs="results", asked="ledger.account")
@dataclass(frozen=True, slots=True)
class AskedRuns(Generic[R]):
    """The results by run. `ledger` is None if no model is asked."""

    results: Sequence[R]
    ledger: CostLedger | None

    def show(self) -> list[Facts]:
        """Return blocks on the files of the results, and on the calls made."""
        files = [(result.path.stem, str(result.path)) for result in self.results]
        return [Facts("Files", files), *(account(self.ledger) if self.ledger else ())]


def write(found: AskedRuns[R], *_: object) -> Written:
    """Return the files of the results, which exist already."""
    return Written({}, [result.path for result in found.results])


def log(
    found: AskedRuns[R], list_metrics: Callable[[R], Mapping[str, float]], lab: Lab
) -> list[str]:
    """Add the results to the MLflow runs of their runs, if these have any; return their ids."""
    return [
        id_
        for result in found.results
        if (metrics := list_metrics(result))
        and (id_ := add_to_run(result.run, metrics, result.path, lab.progress))
    ]
