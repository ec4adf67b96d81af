"""The reference of the Python API; mkdocstrings fills it from the docstrings."""

PAGE = "docs/api.md"
OBJECTS = {
    "Functions": [
        "assay.eval.api.run",
        "assay.eval.api.compare",
        "assay.eval.api.search",
        "assay.eval.api.ingest",
        *(
            f"assay.eval.api.{name}"
            for name in (
                "choose",
                "tune",
                "sweep",
                "ablate",
                "threshold",
                "audit",
                "overlap",
                "targets",
                "parity",
                "recall",
                "reproduce",
                "read_traces",
                "drift",
                "explain",
                "gate",
                "judge",
                "questions",
                "answer",
                "contexts",
                "ragas",
            )
        ),
        "assay.eval.api.load_runs",
        "assay.eval.api.load_tracked_runs",
        "assay.retrievers.foreign.steps.step",
    ],
    "What they return": [
        "assay.eval.studies.run.frame.RunResult",
        "assay.eval.studies.comparison.frame.ComparisonResult",
        "assay.eval.studies.search.frame.SearchResult",
        "assay.eval.studies.ingestion.result.IngestionResult",
        "assay.eval.report.result.StudyResult",
        "assay.eval.api.language_models.AskedModel",
        "assay.eval.tracking.reading.TrackedRun",
    ],
    "The contract of a retriever": [
        f"assay.retrievers.base.{name}"
        for name in (
            "Retriever",
            "Document",
            "Passage",
            "Chunk",
            "Hit",
            "LegRank",
            "Definition",
            "Ranking",
            "StageTrace",
            "IndexReport",
            "AssayError",
        )
    ],
    "Tests of parts of your own": [
        "assay.retrievers.conformance.check_retriever",
        "assay.retrievers.part_conformance.check_part",
        "assay.retrievers.engines.conformance.check_engine",
    ],
}
INTRODUCTION = """\
---
title: Python API
---
# Reference of the Python API

`from assay import run, compare, search, ingest, load_runs, load_tracked_runs, step` are the
functions;
[python.md](python.md) shows them at work. Bad input raises `AssayError`, whose message is one line.
"""


def render_api() -> dict[str, str]:
    """Return the page by its path."""
    lines = [INTRODUCTION]
    for title, names in OBJECTS.items():
        lines.append(f"## {title}\n")
        lines += [f"::: {name}\n" for name in names]
    return {PAGE: "\n".join(lines)}
