"""Targets for people: the wording of values and limits, Markdown, the README's line."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from assay.eval.report.formats import amount, interval
from assay.eval.runs.files import encode_json, write_together
from assay.eval.studies.targets.results import Line, MeasuredValue, Results, TargetResult, Unit
from assay.eval.studies.targets.verdict import Levels, Limits, Verdict
from assay.eval.tracking.delivery import log_result
from assay.eval.tracking.record import metric_name, with_interval
from assay.eval.tracking.store import redact
from assay.retrievers.base import AssayError
from assay.retrievers.store.files import write_atomically

BEGIN = "<!-- targets:begin -->"
END = "<!-- targets:end -->"
HEADINGS = ("id", "criterion", "target", "measured (95 % interval)", "n", "verdict")
MARKS: Mapping[Verdict, str] = {
    "met": "met",
    "missed": "**missed**",
    "cannot tell": "cannot tell",
    "not measurable yet": "not measurable yet",
}
SUFFIXES: Mapping[Unit, str] = {"change": " %", "share": " %", "ms": " ms", "s": " s"}
PURPOSE = (
    "This page lists the criteria of `configs/targets.yaml`, what was measured for each, and the "
    "verdict. `assay targets` measures them again; `targets.json` has the runs, both values of "
    "each change, where passages were lost, and the seconds."
)
RULE = (
    "met: the whole 95 % interval lies within the target; missed: the whole interval lies outside; "
    "else the measurement cannot tell. Intervals: Student's for means, exact binomial for scores "
    "of 0 or 1 and for percentiles, paired percentile bootstrap for relative changes and ratios; "
    "counts have none. An alert, or a page, is a value beyond that level."
)


def write(results: Results, folder: Path) -> list[Path]:
    """Write `targets.md` and `targets.json` into `folder`, each in one piece; return their paths.

    Raises AssayError when they cannot be written.
    """
    contents = {
        "targets.md": render_markdown(results).encode(),
        "targets.json": encode_json(results.as_json()),
    }
    return write_together(folder, contents)


def describe_limits(limits: Limits, unit: Unit, levels: Levels | None = None) -> str:
    """Return limits in words: `≥ +20 %`, `≥ 10 % and ≤ 40 %`; nothing where there are none.

    Behind them stand the levels: `≤ 500 ms, alert > 600 ms, page > 1,000 ms`.
    """
    parts = [f"{sign} {_limit(value, unit)}" for sign, value in limits.items() if value is not None]
    levels = levels or Levels()
    beyond = ">" if levels.rising else "<"
    told = [
        f"{name} {beyond} {_limit(value, unit)}"
        for name, value in levels.items()
        if value is not None
    ]
    return ", ".join([" and ".join(parts), *told])


def _limit(value: float, unit: Unit) -> str:
    if unit == "change":
        return f"{100 * value:+.3g} %"
    if unit == "share":
        return f"{100 * value:.3g} %"
    return f"{value:,.5g}{SUFFIXES.get(unit, '')}"


def format_value(value: float, unit: Unit) -> str:
    """Return a measured value without the name of its unit."""
    if unit == "change":
        return f"{100 * value:+.1f}"
    if unit == "share":
        return f"{100 * value:.1f}"
    if unit == "count":
        return f"{value:,.0f}"
    if unit in ("ms", "s"):
        return amount(value)
    return f"{value:+.3f}" if unit == "difference" else f"{value:.3f}"


def format_measured(found: MeasuredValue | None) -> str:
    """Return a value with its interval, if it has one; a dash where nothing was measured."""
    if found is None:
        return "–"
    estimate, unit = found.estimate, found.unit
    suffix = SUFFIXES.get(unit, "")
    value = f"{format_value(estimate.value, unit)}{suffix}"
    if estimate.low is not None and estimate.low == estimate.high:
        return value
    return f"{value} ({interval(estimate, lambda end: format_value(end, unit), ' … ')})"


def make_rows(target: TargetResult) -> list[tuple[str, ...]]:
    """Return a row of the table for each line, under HEADINGS; id and criterion stand once."""
    return [_row(target, line, first=not number) for number, line in enumerate(target.lines)]


def _row(target: TargetResult, line: Line, *, first: bool) -> tuple[str, ...]:
    said = [target.criterion, line.label] if first else [line.label]
    return (
        target.id if first else "",
        ": ".join(filter(None, said)),
        line.wanted,
        format_measured(line.found),
        f"{line.found.estimate.n:,}" if line.found else "",
        ", ".join(filter(None, (line.verdict, line.level))),
    )


def render_table(results: Results) -> str:
    """Return the table as Markdown, with the totals above it and the machine below."""
    rows = []
    for target in results.targets:
        for line, (*cells, _) in zip(target.lines, make_rows(target), strict=True):
            mark = MARKS[line.verdict] if line.verdict else ""
            verdict = ", ".join(filter(None, (mark, line.level)))
            rows.append((*cells, f"{verdict}: {line.reason}" if line.reason else verdict))
    return "\n\n".join((_totals(results), _table(HEADINGS, rows), _circumstances(results))) + "\n"


def render_markdown(results: Results) -> str:
    """Return the whole report: the table, what explains it, and what was measured for each."""
    parts = [
        "# Success criteria\n",
        f"{PURPOSE}\n",
        render_table(results),
        f"{RULE[0].upper()}{RULE[1:]}\n",
        *_list_remarks(results),
        "## What was measured\n",
    ]
    return "\n".join([*parts, *filter(None, map(_describe, results.targets))]) + "\n"


def _list_remarks(results: Results) -> list[str]:
    """Return a section of the remarks; nothing where there are none."""
    told = [f"- {item.id}: {item.remark}" for item in results.targets if item.remark]
    return ["## Why\n", *told, ""] if told else []


def _describe(target: TargetResult) -> str:
    """Return an item of what was measured: each measure once, with all its collections.

    It is empty where no line has a description.
    """
    places: dict[str, dict[str, None]] = {}
    for line in target.lines:
        what, _, place = line.description.partition(" on ")
        places.setdefault(what.removesuffix(","), {})[place] = None
    told = [" on ".join(filter(None, (what, ", ".join(on)))) for what, on in places.items() if what]
    return f"- {target.id}: {_safe('; '.join(told))}" if told else ""


def describe_seconds(seconds: Mapping[str, float]) -> str:
    """Return in a line what all took together, and the longest three."""
    longest = list(seconds.items())[:3]
    told = ", ".join(f"{what} {amount(taken)} s" for what, taken in longest)
    return f"{sum(seconds.values()) / 60:.1f} minutes in all; the longest: {told}."


def render_totals(results: Results) -> str:
    """Return the totals in a line of Markdown, with a link to what `--output docs` writes."""
    totals = ", ".join(f"{len(ids)} {verdict}" for verdict, ids in results.count().items() if ids)
    return f"{totals} ([each of them](docs/targets.md), as of {results.created[:10]}).\n"


def replace_totals(readme: Path, totals: str) -> str:
    """Return the text of a README with its totals of targets replaced by `totals`.

    Raises AssayError when it cannot be read, or the marks are not there once and in order.
    """
    try:
        text = readme.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AssayError(f"{readme}: cannot be read: {error}") from None
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in after or END in before + after:
        raise AssayError(f"{readme}: needs one line {BEGIN} and, below it, one line {END}")
    return f"{before}{BEGIN}\n{totals}{END}{after}"


def write_totals(readme: Path, results: Results) -> None:
    """Replace the totals of targets in a README by those of `results`, in one piece.

    Raises AssayError as `replace_totals` does, and when it cannot be written.
    """
    write_atomically(readme, replace_totals(readme, render_totals(results)).encode())


def read_totals(path: Path) -> str:
    """Return the totals of targets that the README at `path` holds."""
    return path.read_text("utf-8").partition(f"{BEGIN}\n")[2].partition(END)[0]


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *([_safe(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _safe(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _totals(results: Results) -> str:
    return " ".join(
        f"{len(ids)} {verdict}{'' if verdict == 'met' else ': ' + ', '.join(ids)}."
        for verdict, ids in results.count().items()
        if ids
    )


def _circumstances(results: Results) -> str:
    about = results.environment
    git = about.get("git", {})
    commit = git["commit"][:12] if git else "unknown"
    dirty = ", with changes not committed" if git.get("dirty") else ""
    return (
        f"Measured on {results.created[:10]} at commit {commit}{dirty}, Python {about['python']}, "
        f"{about['cores']} cores of {about['processor']}, by `assay targets`."
    )


def log_targets(results: Results, files: Sequence[Path]) -> str:
    """Send targets with the files written of them; return the id of their MLflow run.

    Raises TrackingError.
    """
    command = redact(shlex.join(map(str, results.environment.get("command", ()))))
    tags = {"assay.command": command, "assay.targets": str(len(results.targets))}
    figures, verdicts = dict(metrics(results)), dict(params(results))
    return log_result(command, tags, figures, verdicts, files, results.created)


def metrics(results: Results) -> Iterator[tuple[str, float]]:
    """Yield each value by its name in MLflow, with its interval, and the number of each verdict."""
    for target in results.targets:
        for line in target.lines:
            if line.found:
                label = f" {line.label}" if line.label else ""
                name = metric_name(f"target/{target.id}{label}")
                yield from with_interval(name, line.found.estimate).items()
    for verdict, ids in results.count().items():
        yield metric_name(f"targets/{verdict}"), len(ids)


def params(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the verdict on each target."""
    for target in results.targets:
        yield metric_name(f"verdict.{target.id}"), target.verdict
