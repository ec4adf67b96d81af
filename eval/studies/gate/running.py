"""What the gate judges: runs against their baselines, latency against a base, itself."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

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
from assay.eval.studies.gate.calibration import SelfTest, check
from assay.eval.studies.gate.rebuild import examine_rebuild
from assay.eval.studies.gate.rule import GateReport, LatencyVerdict, judge, judge_latency
from assay.eval.studies.gate.settings import GateSettings
from assay.retrievers.base import AssayError, Progress
from assay.retrievers.base.yaml_text import parse_yaml
from assay.retrievers.settings import validate
from assay.retrievers.settings.files import read_text
from assay.retrievers.store.paths import parse_path

DEFAULT_SETTINGS = Path("configs/gate.yaml")


def baselines_folder(chosen: Path | None) -> Path:
    """Return the folder of the baselines: the one chosen, or `baselines` below the reports."""
    return chosen or reports_folder() / "baselines"


def load_settings(path: Path | None) -> GateSettings:
    """Read the settings at `path`; where it is None, `configs/gate.yaml`, or defaults without it.

    Raises AssayError naming the file, the key and what is wrong.
    """
    if path is None and not DEFAULT_SETTINGS.exists():
        return GateSettings()
    path = path or DEFAULT_SETTINGS
    values = parse_yaml(read_text(path), str(path)) or {}
    try:
        return validate(GateSettings, values, str(path))
    except AssayError as error:
        raise AssayError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None


def judge_target(
    target: str,
    overrides: Sequence[str],
    base: str | None,
    baselines: Path,
    settings: GateSettings,
    progress: Progress,
) -> GateReport:
    """Judge a config or a stored run against its baseline, latency too where there is a `base`.

    `base` is a checkout or another config. Raises AssayError where nothing can be judged.
    """
    head = resolve(target, overrides, progress)
    manifest = head.manifest
    baseline = baselining.read(
        baselining.locate(baselines, manifest.name, manifest.collection.name), manifest.id
    )
    judge(baseline, head, settings)  # raises before minutes go into what follows
    names = settings.scored
    scores = baselining.make(head, names).scores
    rebuild = examine_rebuild(target, overrides, head, scores, names, progress)
    latency = _time(target, overrides, base, head, settings, progress) if base else []
    return judge(baseline, head, settings, latency, rebuild)


def _time(
    target: str,
    overrides: Sequence[str],
    base: str,
    head: StoredRun,
    settings: GateSettings,
    progress: Progress,
) -> list[LatencyVerdict]:
    """Time the config `target` beside `base`, which is a checkout or another config."""
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


def _contender(base: str, target: str, overrides: Sequence[str]) -> TimedProcess:
    """Return the base: another config here, or the same one in a checkout."""
    if is_config(base):
        return make_contender(base, overrides)
    folder = parse_path(base, "--base")
    if not folder.is_dir():
        raise AssayError(f"--base: {base}: neither a config nor the folder of a checkout")
    config, engine = split_engine(target)
    path = find_config(config)
    # The checkout's own file, where it has one.
    named = name_in_engine(config if path.is_absolute() else str(path), engine)
    return make_base(f"base {base}", folder, named, overrides)


def check_gate(
    target: str,
    overrides: Sequence[str],
    settings: GateSettings,
    trials: int,
    progress: Progress,
) -> tuple[StoredRun, SelfTest]:
    """Check the gate itself on resamples of the run that `target` means; return it and the test."""
    run = resolve(target, overrides, progress)
    scores = baselining.make(run, list(settings.measures)).scores.values()
    table = np.array([[row[name] for name in settings.measures] for row in scores])
    return run, check(table, settings, trials, progress)
