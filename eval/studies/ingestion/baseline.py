"""An ingestion held against an earlier one, of which there is an `ingestion.json`."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from assay.eval.studies.ingestion.summary import (
    Ingestion,
    IngestionCheck,
    IngestionChecks,
    Verdict,
)
from assay.eval.tracking.record import metric_name
from assay.retrievers.base import AssayError, explain_os_error
from assay.retrievers.settings import explain_error

# What no document may cause more often than before.
GUARDED = {
    "integrity_failures": "documents that cannot be rebuilt",
    "collisions": "collisions of chunk ids",
    "oversize": "oversize chunks",
    "skipped": "skipped files",
    "unread": "chunks longer than the encoder's limit",
}
# What says how documents are cut.
SIZES: Mapping[str, Callable[[Mapping[str, Any]], float | None]] = {
    "documents": lambda figures: figures["documents"],
    "chunks": lambda figures: figures["chunks"],
    "tokens of a chunk, average": lambda figures: figures["tokens"]["average"],
    "tokens of a chunk, p50": lambda figures: figures["tokens"].get("p50"),
    "tokens of a chunk, p95": lambda figures: figures["tokens"].get("p95"),
    "share of chunks of 800 to 1,500 tokens": lambda figures: figures["on_target"],
    "terms to expand queries with": lambda figures: figures.get("vocabulary"),
}
SECONDS = "seconds per 100 pages"
CACHED = "cache hit rate"


class _KeptDocument(BaseModel):
    id: str
    words: int
    tokens: tuple[int, ...]


class _Kept(BaseModel):
    """What is read of an earlier `ingestion.json`."""

    id: str
    figures: dict[str, Any]
    documents: list[_KeptDocument]


def check(made: Ingestion, file: Path) -> IngestionChecks:
    """Hold an ingestion against that of `file`, or of `ingestion.json` in the folder `file`.

    More of what no document may cause, or a document that gives no chunk any more, is a regression.
    Sizes are "changed" where they differ. Times and what the cache had are shown: of two machines
    they mean nothing.
    Raises AssayError where `file` cannot be read, or is of another collection.
    """
    file = file / "ingestion.json" if file.is_dir() else file
    kept = _read(file)
    before, now = kept.figures, made.figures()
    old = {item.id: item for item in kept.documents}
    if old and old.keys().isdisjoint(item.id for item in made.documents):
        raise AssayError(
            f"{file}: has no document in common with {made.source}: {kept.id} is the ingestion of "
            "another collection"
        )
    known = [(old[item.id], item) for item in made.documents if item.id in old]
    empty = tuple(item.id for base, item in known if base.tokens and not item.tokens)
    checks = [
        _judge(name, before.get(key), now[key], guarded=True) for key, name in GUARDED.items()
    ]
    checks.append(_judge("documents without a chunk that had some", 0, len(empty), guarded=True))
    checks += [_judge(name, read(before), read(now)) for name, read in SIZES.items()]
    pace = [figures["seconds_per_100_pages"]["with_embedding"] for figures in (before, now)]
    checks.append(IngestionCheck(SECONDS, pace[0], pace[1], "shown"))
    hits = before.get("cache_hit_rate"), now["cache_hit_rate"]
    checks.append(IngestionCheck(CACHED, *hits, "shown"))
    gone = tuple(sorted(old.keys() - {item.id for item in made.documents}))
    recut = tuple(
        item.id
        for base, item in known
        if base.words == item.words and sorted(base.tokens) != sorted(item.tokens)
    )
    return IngestionChecks(kept.id, tuple(checks), gone, empty, recut)


def _judge(
    name: str, base: float | None, head: float | None, *, guarded: bool = False
) -> IngestionCheck:
    worse = guarded and (head or 0) > (base or 0)
    verdict: Verdict = "regression" if worse else "pass" if base == head or guarded else "changed"
    return IngestionCheck(name, base, head, verdict)


def _read(file: Path) -> _Kept:
    try:
        values = json.loads(file.read_bytes())
        kept = _Kept.model_validate(values)
        for read in SIZES.values():
            read(kept.figures)
        kept.figures["seconds_per_100_pages"]["with_embedding"]
    except OSError as error:
        raise AssayError(explain_os_error(error, file)) from None
    except ValidationError as error:
        reason = explain_error(error)
    except KeyError as error:
        reason = f"{error.args[0]} is missing"
    except (ValueError, TypeError) as error:
        reason = str(error)
    else:
        return kept
    raise AssayError(f"{file}: no ingestion.json of `assay ingest`: {reason}")


def metrics(made: Ingestion) -> dict[str, float]:
    """Return the figures of an ingestion by their names in MLflow, those that are not known out."""
    found = {}
    for key, value in made.figures().items():
        for name, item in value.items() if isinstance(value, dict) else [("", value)]:
            if item is not None:
                found[metric_name(f"ingest/{key}.{name}" if name else f"ingest/{key}")] = item
    return found
