"""References to runs on a command line: a config, or a stored run."""

from collections.abc import Sequence
from pathlib import Path

from assay.eval.configs.locations import reports_folder
from assay.eval.configs.named_configs import is_config, list_configs
from assay.eval.runs.manifest import MANIFEST
from assay.eval.runs.stored import StoredRun, find, load
from assay.retrievers.base import AssayError, Progress


def resolve(reference: str, overrides: Sequence[str], progress: Progress) -> StoredRun:
    """Return the stored run that `reference` means; that of a config is made if there is none.

    It may be a config by its path or name, to which `overrides` are applied; or the id of a run,
    the beginning of one, or its folder. Raises AssayError for overrides of a reference that is no
    config.
    """
    split_overrides([reference, *overrides])
    if is_config(reference):
        from assay.eval.configs.config import load_config
        from assay.eval.running.run import make_run

        outcome = make_run(load_config(reference, overrides), False, progress)
        run = outcome.run
        assert isinstance(run, StoredRun)
        return run
    return load(find(reports_folder(), reference, list_configs()))


def resolve_all(references: Sequence[str], progress: Progress) -> list[StoredRun]:
    """Return the stored runs that references mean; overrides among them go with every config."""
    named, overrides = split_overrides(references)
    return [
        resolve(reference, overrides if is_config(reference) else (), progress)
        for reference in named
    ]


def load_all(reports: Path, progress: Progress) -> list[StoredRun]:
    """Return the stored runs of a folder, the newest first; unreadable ones are skipped.

    Raises AssayError where there are none.
    """
    found = []
    for path in reports.glob(f"*/{MANIFEST}"):
        try:
            found.append(load(path.parent))
        except AssayError as error:
            progress.say(f"assay: passed over: {error}")
    if not found:
        raise AssayError(f"{reports}: no stored runs here; `assay run CONFIG` makes one")
    return sorted(found, key=lambda run: (run.manifest.created, run.manifest.id), reverse=True)


def split_overrides(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the references and the overrides (`key.path=value`) among `arguments`.

    Raises AssayError for overrides without a config.
    """
    references = [item for item in arguments if "=" not in item]
    overrides = [item for item in arguments if "=" in item]
    if overrides and not any(map(is_config, references)):
        raise AssayError(f"{overrides[0]}: an override changes a config, and none is given")
    return references, overrides
