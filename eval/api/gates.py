"""The gate against a baseline, and the analysis of lost passages, as functions."""

from pathlib import Path
from typing import TYPE_CHECKING

from assay.eval.api.studies import ask
from assay.eval.report.result import StudyResult

if TYPE_CHECKING:
    from assay.eval.studies.explanation.finding import Explanation
    from assay.eval.studies.gate.output import GateFinding


def gate(
    target: str,
    *overrides: str,
    base: str | None = None,
    baselines: str | Path | None = None,
    settings: str | Path | None = None,
) -> "StudyResult[GateFinding]":
    """Judge a pipeline against its committed baseline, as `assay gate` does.

    Args:
        target: A config, run where no equal run is stored, or a stored run.
        overrides: Changes to the config, `key.path=value`.
        base: A checkout, git revision or other config to gate latency against.
        baselines: The folder of the baselines; by default `baselines` below the reports.
        settings: The file of the gate's settings; by default `configs/gate.yaml`, if it is there.

    Returns:
        The findings: `.found.verdict.verdict`, `.tables["measures"]`, `.plot()`.

    Raises:
        AssayError: Nothing can be judged: no baseline, no query in common, or a run that is
            degraded or a sample.

    Examples:
        >>> from assay import gate
        >>> gate("hybrid_rrf").found.verdict.verdict  # doctest: +SKIP
        'pass'

    """
    from assay.eval.progress import ConsoleProgress
    from assay.eval.studies.gate import running
    from assay.eval.studies.gate.output import GateFinding
    from assay.eval.studies.gate.report import report
    from assay.eval.studies.gate.settings import load_settings

    limits = load_settings(Path(settings) if settings else None)
    folder = running.baselines_folder(Path(baselines) if baselines else None)
    found = running.judge_target(target, overrides, base, folder, limits, ConsoleProgress())
    return StudyResult(GateFinding(found), report(found))


def explain(
    run: str, *overrides: str, query: str | None = None, k: int = 10
) -> "StudyResult[Explanation]":
    """Show at which step correct passages were lost, as `assay explain` does.

    Args:
        run: A config, run where no equal run is stored, or a stored run.
        overrides: Changes to the config, `key.path=value`.
        query: The id of a query whose correct passages are listed.
        k: The number of hits that count.

    Returns:
        The findings: `.tables["statuses"]`, `.tables["ceilings"]`, with a query also
        `.tables["query"]`.

    Raises:
        AssayError: The config is wrong, there is no such run, or it has no such query.

    Examples:
        >>> from assay import explain
        >>> found = explain("bm25", "dataset=harbourline")
        >>> int(found.tables["statuses"]["passages"].sum())
        194

    """
    from assay.eval.studies.explanation.study import STUDY

    return ask(STUDY, locals())
