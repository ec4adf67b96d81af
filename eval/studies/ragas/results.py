"""The ragas scores of one run, and the file that stores them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from assay.eval.runs.stored import StoredRun
from assay.eval.studies.ragas.beside import Beside

FILE = "ragas.json"


@dataclass(frozen=True)
class RagasResult:
    """The ragas scores of a run, each compared with its nearest measure.

    Attributes:
        run: The run.
        k: The number of hits scored.
        queries: The number of queries.
        judge: The name of the language model; empty if none was asked.
        found: The metrics.
    """

    run: StoredRun
    k: int
    queries: int
    judge: str
    found: Sequence[Beside]

    @property
    def path(self) -> Path:
        """The file that stores the scores, in the folder of the run."""
        return self.run.folder / FILE

    def as_json(self) -> dict[str, Any]:
        """Return the scores as JSON values."""
        return {
            "run": self.run.manifest.id,
            "collection": self.run.manifest.collection.name,
            "ragas": metadata.version("ragas"),
            "k": self.k,
            "queries": self.queries,
            "judge": self.judge or None,
            "metrics": [item.as_json() for item in self.found],
        }


def find_lost(result: RagasResult) -> str:
    """Describe the stored scores that writing `result` would lose; "" if it loses none.

    Scores are lost if the file has another judge, more queries or other metrics.
    """
    try:
        before = json.loads(result.path.read_bytes())
        metrics = {item["metric"] for item in before["metrics"]}
        queries, judge = int(before["queries"]), str(before["judge"] or "")
    except (OSError, ValueError, LookupError, TypeError):
        return ""
    missing = sorted(metrics - {item.metric.name for item in result.found})
    if not missing and queries <= result.queries and judge in ("", result.judge):
        return ""
    by = f" judged by {judge}" if judge else ""
    return f"{', '.join(sorted(metrics))} of {queries} queries{by}"
