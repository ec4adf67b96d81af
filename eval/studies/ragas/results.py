"""The ragas scores of one run, and the file that stores them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from assay.eval.runs.json_form import in_json, or_null
from assay.eval.runs.stored import StoredRun
from assay.eval.studies.ragas.beside import Beside

FILE = "ragas.json"


@in_json(
    "k",
    "queries",
    run="run.manifest.id",
    collection="run.manifest.collection.name",
    ragas="version",
    judge=or_null("judge"),
    metrics="found",
    file="path",
)
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

    @property
    def version(self) -> str:
        """The version of ragas."""
        return metadata.version("ragas")


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
