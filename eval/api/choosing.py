"""Studies that choose settings, as functions: a pipeline to ship, the best points of a space."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.eval.api.studies import ask
from assay.eval.report.result import StudyResult

if TYPE_CHECKING:
    from assay.eval.studies.tuning.choice import Choice
    from assay.eval.studies.tuning.shared_choice import SharedChoice
    from assay.eval.studies.tuning.sweep import Sweep
    from assay.eval.studies.tuning.tuning import TunedPipeline


def choose(
    collection: str | Path | None = None,
    *overrides: str,
    dataset: Sequence[str | Path] = (),
    config: str | Path = "hybrid",
    budget: float = 600,
    max_latency: float | None = None,
    measure: str = "nDCG@10",
) -> "StudyResult[Choice | SharedChoice]":
    """Find the pipeline to ship for a collection, or one for several, as `assay choose` does.

    Contexts that `assay contexts` has written are tried, too.

    Args:
        collection: A collection by its name, or a folder.
        overrides: Changes to the config, `key.path=value`.
        dataset: Several collections in place of one: the pipeline is chosen for all of them, and
            its gain on a new collection is predicted.
        config: The config to start from and to beat, by its path or by its name.
        budget: Seconds after which no candidate starts that embeds texts or reranks.
        max_latency: Milliseconds a query may take; by default nothing is reranked.
        measure: The measure to raise.

    Returns:
        The findings: `.verdict`, `.tables["judged"]`, `.tables["tried"]`, `.plot()`,
        `.write(folder)`; `.found.shipped` is the config to ship. For several collections
        `.tables["effects"]`, and `.tables["judged_<collection>"]` for each.

    Raises:
        AssayError: The config has no dense and BM25 leg, or the collection no judged question, or
            one of several fewer than 30.

    Examples:
        >>> from assay import choose
        >>> found = choose("harbourline", "limit=12", "latency.queries=0", budget=1)
        >>> found.found.ships
        False

    """
    from assay.eval.studies.tuning.choice_study import STUDY

    given = {"config": config, "budget": budget, "max_latency": max_latency, "measure": measure}
    if collection is not None:
        given["collection"] = str(collection)
    return ask(STUDY, given, dataset=[*map(str, dataset)], overrides=overrides)


def sweep(
    file: str | Path,
    *overrides: str,
    engines: Sequence[str] = (),
    keep_runs: bool = False,
) -> "StudyResult[Sweep]":
    """Run every combination of settings on every collection, as `assay sweep` does.

    Args:
        file: The YAML file of the sweep.
        overrides: Changes to every config, `key.path=value`.
        engines: Names of engines in place of those of the file.
        keep_runs: Whether to store the run of every point, not only the best.

    Returns:
        The findings: `.verdict`, `.tables["points_<collection>"]`, `.json()`, `.write(folder)`;
        `.found.failed` are the points that could not be run.

    Raises:
        AssayError: The file is wrong, or one of its points is no valid config.

    Examples:
        >>> from assay import sweep
        >>> found = sweep("configs/sweeps/bm25.yaml", "dataset=harbourline", "latency.queries=0")
        >>> list(found.tables)
        ['points_harbourline']

    """
    from assay.eval.studies.tuning.sweep_study import STUDY

    return ask(STUDY, locals())


def tune(
    config: str | Path,
    *overrides: str,
    space: Mapping[str, Sequence[Any]] | str | Path | None = None,
    trials: int | None = None,
    measure: str = "nDCG@10",
    group_by: str | None = None,
    folds: int = 5,
    repeats: int = 20,
    seed: int = 0,
) -> "StudyResult[TunedPipeline]":
    """Tune settings of a config; report the cross-validated gain, as `assay tune` does.

    Args:
        config: A config by its path or by the name of one in `configs/`.
        overrides: Changes to it, `key.path=value`.
        space: Values to try by dotted key, or a YAML file of them; by default what fits the config.
        trials: The number of points to try, drawn at random; by default all, or 500.
        measure: The measure to raise.
        group_by: Queries to keep in one fold: "text" for those of the same words, "document" also
            for those of the same documents; by default the latter where the verdict is for other
            documents.
        folds: The number of parts into which queries are dealt.
        repeats: The number of times they are dealt.
        seed: The seed of the folds and the trials.

    Returns:
        The findings: `.verdict`, `.tables["gains"]`, `.tables["points"]`, `.write(folder)`;
        `.found.best` is the best config, and `.found.tuning.verdict` says whether to take it.

    Raises:
        AssayError: The config or the space is wrong, or a point is no valid config.

    Examples:
        >>> from assay import tune
        >>> k1 = {"retriever.legs.keyword.k1": [0.9, 1.2]}
        >>> found = tune("bm25", "dataset=harbourline", space=k1, repeats=2)
        >>> found.tables["points"].index.tolist()
        ['k1 0.9', 'k1 1.2']

    """
    from assay.eval.studies.tuning.tuning_study import STUDY

    if not isinstance(space, Mapping):
        return ask(STUDY, locals())
    over = [
        f"{key}={json.dumps([*values], separators=(',', ':'))[1:-1]}"
        for key, values in space.items()
    ]
    given = {name: value for name, value in locals().items() if name not in ("space", "over")}
    return ask(STUDY, given, over=over)
