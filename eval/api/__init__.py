"""The Python API: `from assay import run, compare, search, ingest, load_runs, …`.

It takes objects and returns results. Like the command line, it makes retrievers of configs and
reads the same environment variables. Bad input raises an AssayError with the line that the command
line would print. See docs/python.md.

The examples run in a checkout of the project, on its small collection.
"""

from assay.eval import no_telemetry
from assay.eval.api.choosing import choose, sweep, tune
from assay.eval.api.documents import ingest, search
from assay.eval.api.gates import explain, gate
from assay.eval.api.language_models import answer, contexts, judge, questions, ragas
from assay.eval.api.runs import compare, run
from assay.eval.api.stored_runs import load_runs, load_tracked_runs
from assay.eval.api.studies import (
    ablate,
    audit,
    overlap,
    parity,
    recall,
    reproduce,
    targets,
    threshold,
)
from assay.eval.api.traffic import drift, read_traces

__all__ = [
    "ablate",
    "answer",
    "audit",
    "choose",
    "compare",
    "contexts",
    "drift",
    "explain",
    "gate",
    "ingest",
    "judge",
    "load_runs",
    "load_tracked_runs",
    "overlap",
    "parity",
    "questions",
    "ragas",
    "read_traces",
    "recall",
    "reproduce",
    "run",
    "search",
    "sweep",
    "targets",
    "threshold",
    "tune",
]

no_telemetry.disable()
