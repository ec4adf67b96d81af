"""Why a run was made although an earlier one of its config is stored."""

from collections.abc import Iterator
from contextlib import suppress
from glob import escape
from pathlib import Path

from assay.eval.runs.manifest import MANIFEST, Manifest, read_manifest
from assay.eval.runs.stored import find_time
from assay.retrievers.base import AssayError

# Keys of a config on which no ranking depends.
WORDS = {"description", "measures"}
UNUSED = {"assay", "mlflow"}  # packages that make no ranking; Assay's code counts by itself


def explain_new_run(made: Manifest, reports: Path) -> str:
    """Return in a line what changed since the last run of this config on this collection.

    It is empty where there is none in `reports`, where the config changed, and where nothing did.
    """
    before = _find_last(made, reports)
    if before is None or _settings(before) != _settings(made):
        return ""
    changed = "; ".join(_list_changes(before, made))
    return f"{made.name}: searched again, since {before.id}: {changed}" if changed else ""


def _find_last(made: Manifest, reports: Path) -> Manifest | None:
    begins = made.id.rsplit("-", 3)[0]  # an id ends with day, time and identity
    folders = (path.parent for path in reports.glob(f"{escape(begins)}-*/{MANIFEST}"))
    ids = {path.name for path in folders if path.name.rsplit("-", 3)[0] == begins} - {made.id}
    with suppress(AssayError):  # one of another version says nothing
        return read_manifest(reports / max(ids, key=find_time)) if ids else None
    return None


def _settings(run: Manifest) -> dict[str, object]:
    return {key: value for key, value in run.config.items() if key not in WORDS}


def _list_changes(before: Manifest, made: Manifest) -> Iterator[str]:
    if before.degraded:
        yield "parts of it had failed"
    if before.collection.digest != made.collection.digest:
        yield "the collection changed"
    if before.facts != made.facts:
        yield "a model or part changed"
    old, new = (dict(run.environment.get("packages", {})) for run in (before, made))
    for name in sorted((old.keys() | new.keys()) - UNUSED):
        if old.get(name) != new.get(name):
            yield f"{name} {old.get(name, 'absent')} → {new.get(name, 'absent')}"
    if before.environment.get("sources") != made.environment.get("sources"):
        yield "Assay's code changed"
