"""What a tuning found, in words and as a page: `NAME.html` and `NAME.md` beside its config."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.eval.report.formats import Figure, count, figure, interval, score, signed
from assay.eval.report.markdown import render_markdown
from assay.eval.report.page import render_page
from assay.eval.report.provenance import describe_environment
from assay.eval.running.search_space import describe, label
from assay.eval.runs.config_keys import shorten
from assay.eval.statistics.estimates import OpenEstimate
from assay.eval.studies.sweep.heatmap import make_heatmap
from assay.eval.studies.tuning.nested_cv import FEWEST_MOVED, PointGain, TuningResult
from assay.retrievers.store.files import write_atomically

CHOSEN_BY = "best, on the queries it was chosen by"


def write(
    tuning: TuningResult,
    config: str,
    collection: str,
    space: Sequence[str],
    environment: Mapping[str, Any],
    command: str,
    path: Path,
) -> list[Path]:
    """Write the page of a tuning of `config` to `path` and, as Markdown, beside it.

    `space` are the lines that say which values were tried. Return both paths.
    """
    ranked = sorted(tuning.points, key=lambda item: -item.mean)
    best = None if tuning.best is None else tuning.points[tuning.best]
    values: dict[str, Any] = {
        "config": config,
        "facts": (
            f"on {collection}",
            count(tuning.queries, "query", "queries"),
            count(len(tuning.points), "point"),
        ),
        "measure": tuning.measure,
        "conclusion": describe_gain(tuning),
        "lines": explain(tuning),
        "space": space,
        "given": figure(tuning.given, score),
        "gains": [
            (CHOSEN_BY, _signed(tuning.naive), "none"),
            ("best, cross-validated", _signed(tuning.held_out), f"{tuning.p:.3f}"),
        ],
        "heatmap": make_heatmap([(item.settings, item.mean) for item in tuning.points], score),
        "points": [_row(item, item is best) for item in ranked],
        "environment": describe_environment(environment),
        "command": command,
    }
    page, text = path.with_suffix(".html"), path.with_suffix(".md")
    write_atomically(
        page, render_page("studies/tuning/templates/tuning.html.j2", **values).encode()
    )
    write_atomically(
        text, render_markdown("studies/tuning/templates/tuning.md.j2", **values).encode()
    )
    return [page, text]


def describe_gain(tuning: TuningResult) -> str:
    """Return what tuning was found to be worth, in a sentence's length."""
    if tuning.best is None:
        return f"no point is better in {tuning.measure} than the config as given"
    return (
        f"{tuning.verdict}: cross-validated gain in {tuning.measure} {gain(tuning.held_out)}, "
        f"p = {tuning.p:.3f}; naive {gain(tuning.naive)}"
    )


def gain(estimate: OpenEstimate) -> str:
    """Return a difference with its interval, where it has one."""
    ends = interval(estimate, lambda value: f"{value:+.3f}", " … ")
    return f"{estimate.value:+.3f}" + (f" ({ends})" if estimate.low is not None else "")


def explain(tuning: TuningResult) -> list[str]:
    """Return how it was held out, and which points were chosen how often."""
    chosen = sorted(tuning.points, key=lambda item: -item.chosen)[:5]
    parts = [f"{label(item.settings)}: {item.chosen}" for item in chosen if item.chosen]
    if tuning.kept:
        parts.append(f"as given: {tuning.kept}")
    design = tuning.design
    groups = "" if tuning.groups == tuning.queries else f" in {tuning.groups} groups"
    lines = [
        f"cross-validation: {design.folds} folds, {design.repeats} times{groups}, seed "
        f"{design.seed}; p by randomisation of the whole choice, one-sided",
        f"chosen, of {tuning.choices} times: {'; '.join(parts)}",
    ]
    if tuning.held_out.low is None:
        lines.append(
            f"fewer than {FEWEST_MOVED} queries gained or lost in cross-validation: too few "
            "for an interval, and to show a gain"
        )
    elif tuning.verdict == "worth taking" and tuning.held_out.low <= 0:
        lines.append("the interval reaches 0: the test shows a gain, which may be small")
    if ends := _find_ends(tuning):
        lines.append(f"at an end of its axis, beyond which there may be better: {', '.join(ends)}")
    return lines


def _find_ends(tuning: TuningResult) -> list[str]:
    """Return the numbers of the best point that are the least or greatest of those tried."""
    if tuning.best is None:
        return []
    best = tuning.points[tuning.best].settings
    names = shorten(best)
    ends = []
    for key, value in best.items():
        tried = [item.settings[key] for item in tuning.points if key in item.settings]
        numbers = {item for item in tried if isinstance(item, (int, float))}
        if len(numbers) > 2 and value in (min(numbers), max(numbers)):
            ends.append(f"{names[key]} {describe(value)}")
    return ends


def _row(item: PointGain, best: bool) -> tuple[str, str, Figure, int, bool]:
    return label(item.settings), score(item.mean), _signed(item.gain), item.chosen, best


def _signed(estimate: OpenEstimate) -> Figure:
    return figure(estimate, signed)
