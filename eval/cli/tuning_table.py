"""What `assay tune` prints."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.eval.cli.output import make_console, make_table, print_table
from assay.eval.report.formats import interval
from assay.eval.running.search_space import describe, label
from assay.eval.runs.config_keys import shorten
from assay.eval.studies.tuning.page import CHOSEN_BY, describe_gain, explain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from assay.eval.studies.sweep.search_spaces import Space
    from assay.eval.studies.tuning.nested_cv import TuningResult
    from assay.eval.studies.tuning.running import TunedPipeline

MOST_COLUMNS = 10
MOST_ROWS = 10
STYLES = {"worth taking": "bold green", "gain not shown": "bold yellow"}


def print_tuning(tuned: "TunedPipeline") -> None:
    """Print the gain, naive beside held out, how stable the choice is, and the surface."""
    tuning, space, settings = tuned.tuning, tuned.space, tuned.settings
    console = make_console()
    title = f"{settings.name} on {settings.dataset}: {tuning.measure}, n = {tuning.queries}"
    console.print(title, style="bold", markup=False)
    console.print(describe_gain(tuning), style=STYLES.get(tuning.verdict, "bold"))
    console.print()
    print_table(console, _gains(tuning))
    for line in explain(tuning):
        console.print(line, markup=False)
    console.print()
    _print_surface(console, tuning, space)
    console.print(f"space {space.source}: {len(tuning.points)} of {len(space.points)} points tried")
    for line in space.lines():
        console.print(f"  {line}", markup=False)


def _gains(tuning: "TuningResult") -> "Table":
    table = make_table("", tuning.measure, "gain", "95 % interval", "p", ruled=False, whole=True)
    given = tuning.given
    table.add_row("as given", f"{given.value:.3f}", "", f"{given.low:.3f} – {given.high:.3f}", "")
    for name, estimate, p in (
        (CHOSEN_BY, tuning.naive, "none"),
        ("best, cross-validated", tuning.held_out, f"{tuning.p:.3f}"),
    ):
        ends = interval(estimate, lambda value: f"{value:+.3f}")
        mean = f"{given.value + estimate.value:.3f}"
        table.add_row(name, mean, f"{estimate.value:+.3f}", ends, p)
    return table


def _print_surface(console: "Console", tuning: "TuningResult", space: "Space") -> None:
    """Print the means: two axes as a grid where all of it was tried, else the best points."""
    axes = dict(space.grids[0])
    if len(space.grids) == 1 and len(axes) == 2 and len(tuning.points) == len(space.points):
        across, down = sorted(axes, key=lambda key: len(axes[key]))
        if len(axes[across]) <= MOST_COLUMNS:
            print_table(console, _grid(tuning, down, axes[down], across, axes[across]))
            return
    print_table(console, _list(tuning))
    if len(tuning.points) > MOST_ROWS:
        console.print(f"the best {MOST_ROWS} of {len(tuning.points)}; the report has all")


def _grid(
    tuning: "TuningResult",
    down: str,
    rows: Sequence[object],
    across: str,
    columns: Sequence[object],
) -> "Table":
    names = shorten((down, across))
    title = f"{names[down]} ↓  {names[across]} →"
    table = make_table(title, *(describe(value) for value in columns), whole=True)
    best = None if tuning.best is None else tuning.points[tuning.best]
    for row in rows:
        cells = []
        for column in columns:
            point = {down: row, across: column}
            (tried,) = (item for item in tuning.points if item.settings == point)
            text = f"{tried.mean:.3f}"
            cells.append(f"[bold]{text}[/]" if tried is best else text)
        table.add_row(describe(row), *cells)
    return table


def _list(tuning: "TuningResult") -> "Table":
    from rich.markup import escape

    table = make_table("point", "mean", "naive gain", "chosen", ruled=False, whole=True)
    for item in sorted(tuning.points, key=lambda item: -item.mean)[:MOST_ROWS]:
        naive = f"{item.gain.value:+.3f}"
        table.add_row(escape(label(item.settings)), f"{item.mean:.3f}", naive, str(item.chosen))
    return table
