"""Rankings made elsewhere become stored runs."""

from collections.abc import Iterator
from pathlib import Path

from assay.eval.collections.loading import load
from assay.eval.configs.held_out import check_open
from assay.eval.configs.locations import reports_folder
from assay.eval.runs.execution.execution import RunOutcome, RunSpec, execute
from assay.eval.runs.execution.replay import Replay, cover, describe_cut
from assay.eval.runs.latency import LatencySettings
from assay.eval.runs.run_files import read_run_file
from assay.eval.runs.trec_runs import Ties
from assay.retrievers.base import Progress


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

    Runs are called `name`; with several systems the system's name follows it. They keep `depth`
    hits a query, and `progress` reports it if there are more. `missing` is the treatment of queries
    without a ranking (see `assay.eval.runs.execution.replay.cover`), `ties` the order of hits with
    equal scores (see `assay.eval.runs.run_files.read_run_file`). If nothing that is read has
    changed and the runs are stored, nothing is read again; `rerun` makes new ones.
    Raises AssayError.
    """
    check_open(dataset)
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
    for system, (collection, replay) in replays.items():
        label = _label(name, system, len(replays) > 1)
        config = {
            "name": label,
            "dataset": dataset,
            "depth": depth,
            "imported": {"file": file.name, "tag": system} | chosen,
        }
        plan = RunSpec(label, config, depth, None, LatencySettings(queries=0), rerun=rerun)
        yield execute(plan, replay, collection, reports_folder(), progress)


def _label(name: str | None, system: str, several: bool) -> str:
    """Return the name of a run, in characters that a folder's name may have."""
    label = "-".join(part for part in (name, system if several or not name else "") if part)
    return "".join(char if char.isalnum() or char in "._-" else "_" for char in label)
