"""Studies as functions: each returns its findings with tables, verdict and report."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.eval.report.blocks import Report
from assay.eval.report.result import StudyResult
from assay.eval.running.study import F, Lab, O, Study

if TYPE_CHECKING:
    from assay.eval.studies.ablation.analysis import Ablation
    from assay.eval.studies.audit.study import Audit
    from assay.eval.studies.overlap.study import Overlap
    from assay.eval.studies.reproduction.analysis import Reproduction
    from assay.eval.studies.stores.parity.results import Parity
    from assay.eval.studies.stores.recall.curve import Curve
    from assay.eval.studies.targets.results import Results
    from assay.eval.studies.threshold.running import FittedThreshold


def ask(study: Study[O, F], given: Mapping[str, Any], **changed: Any) -> StudyResult[F]:
    """Return the answer of a study to the arguments of a function, which are its options.

    `given` is what `locals()` holds in the function; `changed` are options in place of those there.
    Raises AssayError for wrong ones.
    """
    found, told = find(study, given, **changed)
    return StudyResult(found, told)


def find(study: Study[O, F], given: Mapping[str, Any], **changed: Any) -> tuple[F, Report]:
    """Return the findings of a study, and its report. Raises AssayError as `ask` does."""
    from assay.eval.progress import ConsoleProgress
    from assay.retrievers.settings import validate

    # `asked` is a language model, whose options several functions take as one argument.
    named = {**given, **(given.get("asked") or {}), **changed}
    options = {name: named[name] for name in named if name not in ("STUDY", "asked")}
    asked = validate(study.options, options, study.name)
    found = study.find(asked, Lab(ConsoleProgress()))
    return found, study.report(found)


def ablate(
    config: str | Path,
    *overrides: str,
    measures: Sequence[str] | None = None,
    timed: int = 5,
) -> "StudyResult[Ablation]":
    """Measure what each part of a pipeline adds and costs, as `assay ablate` does.

    Args:
        config: A config by its path or by the name of one in `configs/`.
        overrides: Changes to it, `key.path=value`.
        measures: The measures to compare; by default nDCG@10, Hit@1 and Recall@20.
        timed: The number of queries on which all variants are timed interleaved.

    Returns:
        The findings: `.verdict`, `.tables["removals"]`, `.plot()`, `.json()`, `.write(folder)`.

    Raises:
        AssayError: The config is wrong, is no pipeline of parts, or cannot be run.

    Examples:
        >>> from assay import ablate
        >>> found = ablate("hybrid", "dataset=harbourline", "limit=20", timed=0)
        >>> list(found.tables)
        ['means', 'removals', 'removals_costs', 'removals_words']

    """
    from assay.eval.studies.ablation.study import STUDY

    named = {} if measures is None else {"measures": measures}
    return ask(STUDY, {"config": config, "overrides": overrides, "timed": timed, **named})


def targets(
    *ids: str, file: str | Path = "configs/targets.yaml", rerun: bool = False
) -> "StudyResult[Results]":
    """Measure success criteria, each with its 95 % interval and verdict, as `assay targets` does.

    Args:
        ids: Those to measure, by their ids in the file; by default all.
        file: The targets.
        rerun: Measure again what equal calls measured before.

    Returns:
        The findings: `.verdict`, `.tables["targets"]` with a row a measurement, `.json()`.

    Raises:
        AssayError: The file is wrong, or has no such target.

    Examples:
        >>> from assay import targets
        >>> print(targets("V3-sizes").verdict)  # doctest: +ELLIPSIS
        1 ...: V3-sizes

    """
    from assay.eval.studies.targets.study import STUDY

    return ask(STUDY, locals())


def reproduce(
    *sets: str,
    systems: Sequence[str] = (),
    file: str | Path | None = None,
    rerun: bool = False,
) -> "StudyResult[Reproduction]":
    """Measure systems on public sets next to published figures, as `assay reproduce` does.

    Args:
        sets: Sets of the file, `name` or `name=collection`; by default all.
        systems: Systems of the file; by default all.
        file: The published figures; by default those that come with Assay.
        rerun: Whether to search again, though a run is stored.

    Returns:
        The findings: `.verdict`, `.tables["figures_<set>"]`, `.json()`, `.write(folder)`;
        `.found.unexplained` are the figures that differ without a known reason.

    Raises:
        AssayError: The file is wrong, has no such set or system, or none of the sets is here.

    Examples:
        >>> from assay import reproduce
        >>> reproduce("scifact", systems=["bm25"]).found.unexplained  # doctest: +SKIP
        []

    """
    from assay.eval.studies.reproduction.study import STUDY

    return ask(STUDY, locals())


def threshold(
    config: str | Path, *overrides: str, of: str = "", false_empty: float = 0.05
) -> "StudyResult[FittedThreshold]":
    """Choose the score below which a pipeline returns nothing, as `assay threshold` does.

    Args:
        config: A config by its path or by the name of one in `configs/`.
        overrides: Changes to it, `key.path=value`.
        of: `rerank` or a semantic leg; by default the first there is.
        false_empty: The share of answered queries that may be left without results.

    Returns:
        The findings: `.found.stage` is the stage to put into a config.

    Raises:
        AssayError: The config is wrong, or its scores do not say how well a query is answered.

    Examples:
        >>> from assay import threshold
        >>> threshold("semantic", "dataset=harbourline").found.stage["type"]
        'threshold'

    """
    from assay.eval.studies.threshold.study import STUDY

    return ask(STUDY, locals())


def audit(
    n: int,
    base: float,
    new: float,
    sd: float | None = None,
    *,
    hits: bool = False,
    tried: int = 1,
) -> "StudyResult[Audit]":
    """Say what a published pair of means can and cannot show, as `assay audit` does.

    Args:
        n: The number of queries of the means.
        base: The mean of the system it is compared with, from 0 to 1.
        new: The mean of the system that is said to be better.
        sd: The standard deviation of the differences of single queries, if reported.
        hits: Whether each score is 0 or 1, as for Hit@k.
        tried: The number of systems or settings tried on these queries.

    Returns:
        The findings: `.found.shown` is None if it depends on values that are not reported;
        `.tables["spreads"]` and, with `hits`, `.tables["changed"]`.

    Raises:
        AssayError: A value is out of range, or no number of hits has such a mean.

    Examples:
        >>> from assay import audit
        >>> print(audit(250, 0.71, 0.74, 0.3).verdict.splitlines()[0])
        A rise of 0.03 on 250 queries is not shown with a spread of 0.3 (p 0.115)

    """
    from assay.eval.studies.audit.study import STUDY

    return ask(STUDY, locals())


def overlap(
    one: str, other: str, *overrides: str, k: int = 10, by: str = "passages"
) -> "StudyResult[Overlap]":
    """Show how much the first hits of two pipelines agree, as `assay overlap` does.

    Args:
        one: A config or a stored run, as `assay compare` has it.
        other: Another.
        overrides: Changes to the configs, `key.path=value`.
        k: The number of first hits to look at.
        by: What must be the same: `passages` or `documents`.

    Returns:
        The findings, by query in `.tables["queries"]`.

    Raises:
        AssayError: The runs are of different collections, or share no query.

    Examples:
        >>> from assay import overlap
        >>> overlap("bm25", "semantic", "dataset=harbourline", by="documents").tables["means"].shape
        (3, 3)

    """
    from assay.eval.studies.overlap.study import STUDY

    return ask(STUDY, {"runs": (one, other, *overrides), "k": k, "by": by})


def recall(
    engine: str,
    *words: str,
    sweep: str | None = None,
    filters: Sequence[float] = (),
    limit: int | None = None,
) -> "StudyResult[Curve]":
    """Measure recall and speed of approximate dense search, as `assay recall` does.

    Args:
        engine: An engine by its type.
        words: A collection, if not the default one, and settings of the engine, `key.path=value`.
        sweep: A setting and its values, `key=v1,v2`. It or `filters` must be given.
        filters: Shares, between 0 and 1, of the passages that filters let through.
        limit: The number of queries, evenly spaced; by default all.

    Returns:
        The findings: `.tables["points"]`, and by filter `.tables["points_50"]` for .5.

    Raises:
        AssayError: The engine, a setting or the collection is wrong, or the engine has no dense
            search or cannot be asked.

    Examples:
        >>> from assay import recall
        >>> found = recall("sqlite", "harbourline", filters=[0.5], limit=6)
        >>> found.tables["points_50"].loc["exact search", "recall_10"]
        np.float64(1.0)

    """
    from assay.eval.studies.stores.recall.study import STUDY

    return ask(STUDY, locals(), filters=",".join(map(str, filters)) or None)


def parity(engine: str, *words: str, limit: int | None = None) -> "StudyResult[Parity]":
    """Compare an engine's hybrid search with its formula and with ours, as `assay parity` does.

    Args:
        engine: An engine by its type.
        words: A collection, if not the default one, and settings of the engine, `key.path=value`.
        limit: The number of queries, evenly spaced; by default all.

    Returns:
        The findings: `.found.verdict`, `.tables["systems"]`, `.plot("differences")`.

    Raises:
        AssayError: The engine, a setting or the collection is wrong, or the engine has no hybrid
            search of its own or cannot be asked.

    Examples:
        >>> from assay import parity
        >>> parity("sqlite", "harbourline", limit=6).found.verdict
        'identical'

    """
    from assay.eval.studies.stores.parity.study import STUDY

    return ask(STUDY, locals())
