"""What commands print: JSON for programs, tables for people, and where results lie."""

import json
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from retrievers.base import T

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from eval.tracking.record import Record
    from retrievers.base import Progress


def print_json(value: object) -> None:
    """Print one JSON object on standard output."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=1))


class Described(Protocol):
    """A result that can be told to programs."""

    def as_json(self) -> dict[str, Any]: ...  # noqa: D102


UNLIMITED = 100_000  # columns

D = TypeVar("D", bound=Described)


def present(
    found: D, as_json: bool, show: Callable[[D], None], **places: "Path | str | None"
) -> None:
    """Print a result as JSON, or else by `show`, and where it lies: see `print_places`."""
    if as_json:
        print_json({**found.as_json(), **{name: at and str(at) for name, at in places.items()}})
    else:
        show(found)
        print_places(**places)


def print_places(**places: "Path | str | None") -> None:
    """Print where a result lies, by what is there; None is nowhere.

    `mlflow_run` and `mlflow_parent` are the ids of such runs in MLflow.
    """
    for name, place in places.items():
        kind, _, what = name.partition("_")
        if place and what:
            click.echo(f"MLflow  {what} {place}; `make mlflow` opens the UI")
        elif place:
            click.echo(f"{kind:<8}{place}")


def track(no_track: bool, log: Callable[[], T], kept: str, progress: "Progress") -> T | None:
    """Unless asked not to, log to MLflow by `log`: see `eval.tracking.attempt`."""
    from eval.tracking import attempt

    return None if no_track else attempt(log, kept, progress)


def track_runs(
    no_track: bool, records: "Sequence[Record]", folder: Path, progress: "Progress"
) -> str | None:
    """Unless asked not to, log runs with the report in `folder`; return the id of their parent."""
    from eval.runs.environment import command_line
    from eval.tracking.sweep import log_sweep

    def log() -> str | None:
        return log_sweep(records, command_line(), folder) if records else None

    return track(no_track, log, f"the runs and the report in {folder} are kept", progress)


def make_console(width: int = 0) -> "Console":
    """Return a console of at least `width` columns, those that a table needs; in a pipe, where no
    `$COLUMNS` says otherwise, of as many as anything takes.
    """
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = UNLIMITED
    console.width = max(console.width, width)
    return console


def print_table(console: "Console", table: "Table") -> None:
    """Print a table of which the columns that do not wrap stand whole, be it wider than `console`.

    Their cells are plain text or markup.
    """
    from rich.text import Text

    for column in (column for column in table.columns if column.no_wrap):
        texts = [Text.from_markup(str(cell)) for cell in (column.header, *column.cells)]
        column.min_width = max(text.cell_len for text in texts)
    console.print(table, crop=False)


def make_table(
    first: str,
    *others: str,
    title: str | None = None,
    left: Collection[str] = (),
    ruled: bool = True,
    whole: bool = False,
) -> "Table":
    """Return a table of a column of names and columns of figures, which stand right but for `left`.

    `ruled` draws a line below the headings; with `whole` no figure is broken over lines.
    """
    from rich import box
    from rich.table import Table

    table = Table(
        title=title,
        title_justify="left",
        box=box.SIMPLE_HEAD if ruled else None,
        pad_edge=False,
    )
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="left" if name in left else "right", no_wrap=whole)
    return table
