"""The gate on a config or a stored run: its scores, and its latency against a base."""

from collections.abc import Sequence
from pathlib import Path

from assay.eval.configs.config import load_config
from assay.eval.configs.locations import reports_folder
from assay.eval.configs.named_configs import (
    find_config,
    is_config,
    name_in_engine,
    split_engine,
)
from assay.eval.running.run_references import resolve
from assay.eval.running.timed_process import make_base, make_contender
from assay.eval.runs.execution.interleaved_timing import TimedProcess, interleave
from assay.eval.runs.execution.searching import sample
from assay.eval.runs.stored import StoredRun
from assay.eval.studies.gate import baseline as baselining
from assay.eval.studies.gate.baseline_pipeline import examine_change, opened
from assay.eval.studies.gate.obstacles import list_mismatches
from assay.eval.studies.gate.rebuild import examine_rebuild
from assay.eval.studies.gate.rule import judge, judge_latency
from assay.eval.studies.gate.settings import GateSettings
from assay.eval.studies.gate.verdicts import GateVerdict, LatencyVerdict
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.store.files import write_atomically
from assay.retrievers.store.locks import changing


def baselines_folder(chosen: Path | None) -> Path:
    """Return the folder of the baselines: the one chosen, or `baselines` below the reports."""
    return chosen or reports_folder() / "baselines"


def judge_target(
    target: str,
    overrides: Sequence[str],
    base: str | None,
    baselines: Path,
    settings: GateSettings,
    progress: Progress,
) -> GateVerdict:
    """Judge a config or a stored run against its baseline, and its latency if there is a `base`.

    `base` is a checkout, a git revision or another config. If the collection changed since the
    baseline, the baseline's pipeline is run on today's collection, by the code of `base` unless
    that is a config. Raises AssayError if nothing can be judged.
    """
    names = settings.scored
    with opened(base) as checkout:  # refuses an invalid base before the run
        head = resolve(target, overrides, progress)
        manifest = head.manifest
        baseline = baselining.find_baseline(baselines, head)
        change = None
        if manifest.collection.digest != baseline.collection.digest:
            if mismatches := list_mismatches(baseline, head, names):
                raise AssayError(f"{manifest.id} cannot be judged: {'; '.join(mismatches)}")
            measures = list(settings.measures)
            change = examine_change(baseline, head, measures, checkout, progress)
        verdict = judge(baseline, head, settings, change=change)  # before the slow steps below
        scores = baselining.score(head, names)
        rebuild = examine_rebuild(target, overrides, head, scores, names, progress)
        latency: list[LatencyVerdict] = []
        if base and (change is None or _is_timed(target, overrides)):
            latency = _time(target, overrides, checkout or base, head, settings, progress)
    if rebuild is None and not latency:
        return verdict
    return judge(baseline, head, settings, latency, rebuild, change)


def refresh(report: GateVerdict, settings: GateSettings, baselines: Path, strict: bool) -> str:
    """Move a baseline to today's collection with its pipeline unchanged, unless the gate fails.

    Returns a sentence on the move, or on the reason for none; "" if the collection did not change.
    Raises AssayError if the file cannot be written.
    """
    change, before = report.collection, report.baseline
    if change is None:
        return ""
    path = baselining.locate(baselines, before.name, before.collection.name)
    if report.fails(strict):
        return f"{path} is left as it is, since the gate fails"
    if objections := baselining.list_objections(change.base.manifest):
        return f"{path} is left as it is: {'; '.join(objections)}"
    made = baselining.make(change.base, settings.scored)
    with changing(path):
        write_atomically(path, baselining.render(made).encode())
    return f"{path}: moved to today's collection, its pipeline as before; commit it"


def _time(
    target: str,
    overrides: Sequence[str],
    base: Path | str,
    head: StoredRun,
    settings: GateSettings,
    progress: Progress,
) -> list[LatencyVerdict]:
    """Time the config `target` interleaved with `base`, a checkout or another config."""
    if not is_config(target):
        raise AssayError(f"--base: {target} is a stored run; only a config can be timed")
    limits = load_config(target, overrides).latency
    asked = sample(tuple(head.queries.values()), limits.queries)
    queries = [query.text for query in asked]
    if not queries:
        raise AssayError("--base: latency.queries is 0, so there is nothing to time")
    contenders = (_contender(base, target, overrides), make_contender(target, overrides))
    times = interleave(*contenders, queries, limits.seconds, progress)
    return judge_latency(times, settings.latency)


def _is_timed(target: str, overrides: Sequence[str]) -> bool:
    """Return True if latency is timed even if the base is needed for its code as well."""
    return is_config(target) and load_config(target, overrides).latency.queries > 0


def _contender(base: Path | str, target: str, overrides: Sequence[str]) -> TimedProcess:
    """Return the base: another config here, or the same one in a checkout."""
    if isinstance(base, str):
        return make_contender(base, overrides)
    config, engine = split_engine(target)
    path = find_config(config)
    # A relative path names the checkout's own file.
    named = name_in_engine(config if path.is_absolute() else str(path), engine)
    return make_base(f"base {base}", base, named, overrides)
