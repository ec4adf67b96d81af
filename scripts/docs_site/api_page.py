"""The reference of the Python API; mkdocstrings fills it from the docstrings."""

PAGE = "docs/api.md"
OBJECTS = {
    "Functions": [
        "eval.api.run",
        "eval.api.compare",
        "eval.api.search",
        "eval.api.ingest",
        "eval.api.load_runs",
        "eval.api.load_tracked_runs",
    ],
    "What they return": [
        "eval.frames.run.Result",
        "eval.frames.comparison.ComparisonResult",
        "eval.frames.search.SearchResult",
        "eval.frames.ingestion.IngestionResult",
        "eval.tracking.reading.TrackedRun",
    ],
    "The contract of a retriever": [
        f"retrievers.base.{name}"
        for name in (
            "Retriever",
            "Document",
            "Passage",
            "Chunk",
            "Hit",
            "Placed",
            "Definition",
            "Ranking",
            "StageTrace",
            "IndexReport",
            "AssayError",
        )
    ],
    "Tests of parts of your own": [
        "retrievers.conformance.check_retriever",
        "retrievers.documents.conformance.check_chunker",
        "retrievers.engines.conformance.check_engine",
        "retrievers.legs.conformance.check_leg",
        "retrievers.models.conformance.check_cross_encoder",
        "retrievers.models.conformance.check_encoder",
        "retrievers.query.conformance.check_query_step",
        "retrievers.stages.conformance.check_stage",
    ],
}
INTRODUCTION = """\
---
title: Python API
---
# Reference of the Python API

`from eval import run, compare, search, ingest, load_runs, load_tracked_runs` are the functions;
[python.md](python.md) shows them at work. Bad input raises `AssayError`, whose message is one line.
"""


def render_api() -> dict[str, str]:
    """Return the page by its path."""
    lines = [INTRODUCTION]
    for title, names in OBJECTS.items():
        lines.append(f"## {title}\n")
        lines += [f"::: {name}\n" for name in names]
    return {PAGE: "\n".join(lines)}
