"""Rankings made elsewhere become stored runs."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assay.eval.collections.catalog import find
from assay.eval.collections.digests import measure_digest
from assay.eval.collections.loading import load
from assay.eval.configs.locations import reports_folder
from assay.eval.runs import environment
from assay.eval.runs.execution.execution import RunOutcome, RunSpec, execute, find_stored
from assay.eval.runs.execution.replay import Replay, cover, describe_cut
from assay.eval.runs.latency import LatencySettings
from assay.eval.runs.manifest import read_manifest
from assay.eval.runs.run_files import read_run_file
from assay.eval.runs.trec_runs import Ties
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.store.cache import Cache, default_root
from assay.retrievers.store.digest import digest, digest_file

KIND = "imports"


def import_runs(
    file: Path,
    dataset: str,
    name: str | None,
    depth: int,
    missing: str,
    ties: Ties,
    rerun: bool,
    progress: Progress,
) -> Iterator[RunOutcome]:
    """Judge the rankings in `file`, and yield the run of each system in it, without latencies.

    Runs are called `name`, with several systems followed by the system's. They keep `depth` hits a
    query, and `progress` is told where there are more. `missing` is what becomes of queries
    without a ranking (see `assay.eval.runs.execution.replay.cover`), `ties` by what hits of equal
    scores stand (see `assay.eval.runs.run_files.read_run_file`). Where all that is read is as
    it was before, and the runs stand, nothing is read again; `rerun` makes new ones.
    Raises AssayError.
    """
    key = _identify(file, dataset, name, depth, missing, ties)
    if key and not rerun and (known := _find_known(key)):
        for note in known.notes:
            progress.say(note)
        yield from (RunOutcome(folder, reused=True) for folder in known.folders)
        return
    runs = read_run_file(file, ties)
    whole = load(dataset, progress)
    replays = {}
    notes = list(runs.notes)
    for system in runs.systems:
        collection, told = cover(runs, system, whole, missing)
        replays[system] = collection, Replay(runs, system, collection)
        notes += [*told, *describe_cut(runs, system, depth)]
    for note in notes:
        progress.say(note)
    chosen = {} if ties == "ranks" else {"ties": ties}
    identities = []
    for system, (collection, replay) in replays.items():
        label = _label(name, system, len(replays) > 1)
        config = {
            "name": label,
            "dataset": dataset,
            "depth": depth,
            "imported": {"file": file.name, "tag": system} | chosen,
        }
        plan = RunSpec(label, config, depth, None, LatencySettings(queries=0), rerun=rerun)
        outcome = execute(plan, replay, collection, reports_folder(), progress)
        identities.append(read_manifest(outcome.folder).identity)
        yield outcome
    if key:
        with suppress(AssayError):  # where nothing can be written, all is read each time
            kept = json.dumps({"notes": notes, "identities": identities}).encode()
            Cache(default_root()).put_many(KIND, {key: kept})


@dataclass(frozen=True)
class _ImportRecord:
    """What was said of an import, and the folders of its runs."""

    notes: Sequence[str]
    folders: Sequence[Path]


def _find_known(key: str) -> _ImportRecord | None:
    """Return what was imported by the digest `key`; None where that is not known, or gone."""
    with suppress(AssayError):
        if stored := Cache(default_root()).get_many(KIND, [key]).get(key):
            kept = json.loads(stored)
            found = [find_stored(identity, reports_folder()) for identity in kept["identities"]]
            folders = [folder for folder in found if folder]
            return _ImportRecord(kept["notes"], folders) if len(folders) == len(found) else None
    return None


def _identify(
    file: Path, dataset: str, name: str | None, depth: int, missing: str, ties: Ties
) -> str:
    """Return the digest of all that an import depends on; "" where not all of it is in files.

    Nor where a file is missing, or anything else is wrong: reading it tells what.
    """
    with suppress(AssayError, OSError):
        card, variant = find(dataset)
        if card.has_folder:
            names = filter(None, dict.fromkeys([*card.names(), card.contexts_file]))
            return digest(
                [str(file), digest_file(file), name, dataset, variant, depth, missing, ties],
                [card, [measure_digest(card, each) for each in names]],
                [environment.packages(), environment.digest_code()],
            )
    return ""


def _label(name: str | None, system: str, several: bool) -> str:
    """Return what a run is called, in characters that a folder's name may have."""
    label = "-".join(part for part in (name, system if several or not name else "") if part)
    return "".join(char if char.isalnum() or char in "._-" else "_" for char in label)
