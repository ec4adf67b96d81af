"""Assay: which retrieval pipeline should I ship, and can I believe the difference?

`run`, `compare`, `search`, `ingest`, `load_runs` and `load_tracked_runs` are the Python API, loaded
when first used; `step` records the steps of a pipeline of your own. `assay.retrievers` holds the
pipelines, `assay.eval` what judges them.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.eval.api import (
        ablate,
        answer,
        audit,
        choose,
        compare,
        contexts,
        drift,
        explain,
        gate,
        ingest,
        judge,
        load_runs,
        load_tracked_runs,
        overlap,
        parity,
        questions,
        ragas,
        read_traces,
        recall,
        reproduce,
        run,
        search,
        sweep,
        targets,
        threshold,
        tune,
    )
    from assay.retrievers.foreign.steps import step
else:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name == "step":
            from assay.retrievers.foreign import steps as api
        else:
            from assay.eval import api
        return getattr(api, name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


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
    "step",
    "sweep",
    "targets",
    "threshold",
    "tune",
]

# A checkout has links to `eval` and `retrievers` here. Git on Windows makes text files of them.
if not Path(__file__).with_name("eval").is_dir():
    __path__.append(str(Path(__file__).parents[1]))
