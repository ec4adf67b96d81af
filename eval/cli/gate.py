"""`assay gate`: has a pipeline got worse than its baseline?"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from eval.cli import options
from eval.cli.output import print_json

if TYPE_CHECKING:
    from eval.gate.rule import GateReport, LatencyVerdict
    from eval.gate.settings import GateSettings
    from eval.runs.interleaved_timing import Contender
    from eval.runs.stored import StoredRun
    from retrievers.base import Progress

SELF_TEST = "configs/bm25.yaml"
FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("target", required=False, metavar="CONFIG|RUN")
@options.OVERRIDES
@click.option("--base", help="Gate latency too, against the checkout or the config at this path.")
@options.BASELINES
@options.GATE_SETTINGS
@click.option("--strict", is_flag=True, help="Exit with 1 also when the gate cannot tell.")
@click.option("--junit", type=FILE, help="Write JUnit XML to this file.")
@click.option("--markdown", type=FILE, help="Write a Markdown comment to this file.")
@click.option(
    "--github",
    is_flag=True,
    help="Annotate and write a step summary; the default where GITHUB_ACTIONS is true.",
)
@click.option("--self-test", is_flag=True, help="Check the gate itself on resampled runs.")
@click.option("--trials", type=click.IntRange(200), default=1000, help="Trials of --self-test.")
@options.JSON
def gate(
    target: str | None,
    overrides: tuple[str, ...],
    base: str | None,
    baselines: Path | None,
    settings: Path | None,
    strict: bool,
    junit: Path | None,
    markdown: Path | None,
    github: bool,
    self_test: bool,
    trials: int,
    as_json: bool,
) -> None:
    """Judge CONFIG (run if need be) or a stored RUN against its committed baseline.

    Exits with 0 for pass, 1 for a regression, 2 where nothing can be judged; with 0 and a warning
    where it cannot tell. Latency is gated only with --base: base and head are then timed
    interleaved, and their ratio counts.
    """
    from eval.cli.gate_delivery import Outputs
    from eval.cli.gate_table import print_report
    from eval.cli.gating import baselines_folder, load_settings
    from eval.progress import ConsoleProgress
    from retrievers.base import AssayError

    progress = ConsoleProgress()
    if self_test:
        limits = load_settings(settings)
        _test_itself(target or SELF_TEST, overrides, limits, trials, progress, as_json)
    if target is None:
        raise AssayError("assay gate: name a config or a run")
    github = github or os.environ.get("GITHUB_ACTIONS") == "true"
    outputs = Outputs(junit, markdown, github, strict)
    try:
        limits = load_settings(settings)
        report = _judge(target, overrides, base, baselines_folder(baselines), limits, progress)
    except AssayError as error:
        outputs.deliver_failure(target, str(error))
        raise
    outputs.deliver(report)
    if as_json:
        print_json(report.as_json())
    else:
        print_report(report)
    failed = report.verdict == "regression" or (strict and report.verdict == "cannot tell")
    sys.exit(1 if failed else 0)


def _judge(
    target: str,
    overrides: Sequence[str],
    base: str | None,
    baselines: Path,
    settings: "GateSettings",
    progress: "Progress",
) -> "GateReport":
    from eval.experiments.run_references import resolve, split_overrides
    from eval.gate.baseline import locate, read
    from eval.gate.rule import judge

    split_overrides([target, *overrides])
    head = resolve(target, overrides, progress)
    manifest = head.manifest
    baseline = read(locate(baselines, manifest.name, manifest.collection.name))
    judge(baseline, head, settings)  # raises before minutes go into timing
    latency = _time(target, overrides, base, head, settings, progress) if base else []
    return judge(baseline, head, settings, latency)


def _time(
    target: str,
    overrides: Sequence[str],
    base: str,
    head: "StoredRun",
    settings: "GateSettings",
    progress: "Progress",
) -> "list[LatencyVerdict]":
    """Time the config `target` beside `base`, which is a checkout or another config."""
    from eval.experiments.config import load_config
    from eval.experiments.contender import make_contender
    from eval.experiments.run_references import is_config
    from eval.gate.rule import judge_latency
    from eval.runs.interleaved_timing import interleave
    from retrievers.base import AssayError

    if not is_config(target):
        raise AssayError(f"--base: {target} is a stored run; only a config can be timed")
    limits = load_config(Path(target), overrides).latency
    texts = [query.text for query in head.queries.values()]
    count = min(len(texts), limits.queries)
    queries = [texts[at * len(texts) // count] for at in range(count)]
    if not queries:
        raise AssayError("--base: latency.queries is 0, so there is nothing to time")
    contenders = (_contender(base, target, overrides), make_contender(target, overrides))
    times = interleave(*contenders, queries, limits.seconds, progress)
    return judge_latency(*times, settings.latency)


def _contender(base: str, target: str, overrides: Sequence[str]) -> "Contender":
    """Return the base: another config here, or the same one in a checkout.

    A checkout is run by the interpreter of its own `.venv`, where it has one.
    """
    from eval.experiments.contender import TIMING, make_contender
    from eval.experiments.run_references import is_config
    from eval.runs.interleaved_timing import Contender
    from retrievers.base import AssayError

    if is_config(base):
        return make_contender(base, overrides)
    folder = Path(base)
    if not folder.is_dir():
        raise AssayError(f"--base: {base}: neither a config nor the folder of a checkout")
    own = folder.resolve() / ".venv" / "bin" / "python"
    python = str(own) if own.exists() else sys.executable
    return Contender(f"base {base}", (python, "-m", TIMING, target, *overrides), folder)


def _test_itself(
    target: str,
    overrides: Sequence[str],
    settings: "GateSettings",
    trials: int,
    progress: "Progress",
    as_json: bool,
) -> NoReturn:
    import numpy as np

    from eval.cli.gate_table import print_self_test
    from eval.experiments.run_references import resolve
    from eval.gate.baseline import make
    from eval.gate.calibration import check

    run = resolve(target, overrides, progress)
    scores = make(run, list(settings.measures)).scores.values()
    table = np.array([[row[name] for name in settings.measures] for row in scores])
    result = check(table, settings, trials, progress)
    if as_json:
        print_json({"run": run.manifest.id, **result.as_json()})
    else:
        print_self_test(result, run.manifest.id)
    sys.exit(0 if result.holds else 1)
