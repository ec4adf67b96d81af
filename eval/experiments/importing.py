"""Rankings made elsewhere become stored runs."""

from collections.abc import Iterator
from pathlib import Path

from eval.collections.loading import load
from eval.experiments.locations import reports_folder
from eval.runs.execution import Outcome, Plan, execute
from eval.runs.latency import LatencySettings
from eval.runs.replay import Replay, cover, describe_cut
from eval.runs.run_files import Ties, read_run_file
from retrievers.base import Progress


def import_runs(
    file: Path,
    dataset: str,
    name: str | None,
    depth: int,
    missing: str,
    ties: Ties,
    again: bool,
    progress: Progress,
) -> Iterator[Outcome]:
    """Judge the rankings in `file`, and yield the run of each system in it, without latencies.

    Runs are called `name`, with several systems followed by the system's. They keep `depth` hits a
    query, and `progress` is told where there are more. `missing` is what becomes of queries
    without a ranking (see `eval.runs.replay.cover`), `ties` by what hits of equal scores stand (see
    `eval.runs.run_files.read_run_file`). With `again` an equal run that is stored does not stand
    for a new one. Raises AssayError.
    """
    runs = read_run_file(file, ties)
    whole = load(dataset)
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
        plan = Plan(label, config, depth, None, LatencySettings(queries=0), again=again)
        yield execute(plan, replay, collection, reports_folder(), progress)


def _label(name: str | None, system: str, several: bool) -> str:
    """Return what a run is called, in characters that a folder's name may have."""
    label = "-".join(part for part in (name, system if several or not name else "") if part)
    return "".join(char if char.isalnum() or char in "._-" else "_" for char in label)
