"""The output of commands: JSON for programs, tables for people, and the places of results."""

import gc
import json
import os
import sys
from collections.abc import Callable, Collection, Iterable
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeVar

import click

from assay.retrievers.base import T
from assay.retrievers.base.installation import find_checkout

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from assay.retrievers.base import Progress

import re

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text


def print_json(value: object) -> None:
    """Print one JSON object on standard output: a finding, or values that may hold some."""
    from assay.eval.runs.json_form import to_json

    click.echo(json.dumps(to_json(value), ensure_ascii=False, indent=1))


UNLIMITED = 100_000  # columns
INDENT = "  "
CHECK = "Check first: "

D = TypeVar("D")


def present(
    found: D,
    as_json: bool,
    show: Callable[[D], None],
    log: "Callable[[], str | None] | None" = None,
    **places: "Path | str | None",
) -> None:
    """Print a result as JSON, or else by `show`, and its place: see `print_places`.

    `log` logs it to MLflow and returns the id of its run there; the result is shown before.
    """
    if as_json:
        print_json(describe(found, log, **places))
        return
    show(found)
    print_places(**places | _log(log))


def describe(
    found: D, log: "Callable[[], str | None] | None" = None, **places: "Path | str | None"
) -> dict[str, Any]:
    """Log a result as `present` does, and return the JSON that `present` prints."""
    from assay.eval.runs.json_form import to_json

    located = places | _log(log)
    return {**to_json(found), **{name: i and str(i) for name, i in located.items()}}


def _log(log: "Callable[[], str | None] | None") -> "dict[str, Path | str | None]":
    if log is None:
        return {}
    gc.freeze()  # as MLflow is imported, all that the command holds would be looked through
    return {"mlflow_run": log()}


def print_places(**places: "Path | str | None") -> None:
    """Print the places of a result by their kind; a place that is None is left out.

    `mlflow_run` and `mlflow_parent` are the ids of such runs in MLflow.
    """
    for name, place in places.items():
        kind, _, what = name.partition("_")
        if place and what:
            opens = "make" if find_checkout() == Path.cwd() else "assay"
            click.echo(f"MLflow  {what} {place}; `{opens} mlflow` opens the UI")
        elif place:
            click.echo(f"{kind:<8}{place}")


def open_browser(address: str) -> None:
    """Open a page, if a screen is there: on Linux without one, openers print errors instead."""
    if sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        click.launch(address)


def show_path(path: Path) -> str:
    """Return a path relative to the working folder, if it is below that."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def print_next(*calls: str) -> None:
    """Print the next calls of `assay` to make in this folder, a line each."""
    program = ".venv/bin/assay" if find_checkout() == Path.cwd() else "assay"
    for word, call in zip_longest(["next"], calls, fillvalue="or"):
        click.echo(f"{word:<8}{program} {call}")


def print_text(text: str, style: str = "", indent: int = 0) -> None:
    """Print plain text; on a terminal broken between words, further lines after `indent` blanks."""
    from rich.text import Text

    console = make_console()
    lines = wrap(
        text,
        console.width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines:
        console.print(Text(line), style=style or None, soft_wrap=True)


def track(no_track: bool, log: Callable[[], T], kept: str, progress: "Progress") -> T | None:
    """Unless `no_track`, log to MLflow by `log`: see `assay.eval.tracking.attempt`."""
    from assay.eval.tracking import attempt

    return None if no_track else attempt(log, kept, progress)


def print_warnings(lines: Iterable[str]) -> None:
    """Print what to check before believing the figures, a line each."""
    for i, line in enumerate(lines):
        print_text(f"{'' if i else CHECK}{line}", "yellow")


def make_console() -> "Console":
    """Return a console as wide as the terminal; in a pipe without `$COLUMNS`, of unbounded width.

    A pipe is no terminal, whatever `$FORCE_COLOR` says: `SafeStream` lets no colours through.
    """
    terminal = sys.stdout.isatty()
    console = WholeWordConsole(highlight=False, force_terminal=terminal)
    if not terminal and "COLUMNS" not in os.environ:
        console.width = UNLIMITED
    return console


def print_table(console: "Console", table: "Table") -> None:
    """Print a table with every figure and name unbroken, however narrow `console` is.

    Columns that may wrap do so between words. Where that is not enough, each row is printed as its
    name with its figures below. Cells are plain text or markup.
    """
    from rich.cells import cell_len
    from rich.measure import Measurement
    from rich.text import Text

    for column in table.columns:
        texts = [Text.from_markup(str(cell)).plain for cell in (column.header, *column.cells)]
        whole = [line for text in texts for line in text.splitlines()]
        parts = whole if column.no_wrap else [word for text in texts for word in text.split()]
        column.min_width = max([column.min_width or 0, *map(cell_len, parts)])
    options = console.options.update(width=UNLIMITED)
    if Measurement.get(console, options, table).minimum <= console.width:
        console.print(table)
    else:
        _print_rows(console, table)


def _print_rows(console: "Console", table: "Table") -> None:
    """Print each row of a table as its name, and below it its figures with their headings."""
    from rich.text import Text

    first, *headings = (Text.from_markup(str(column.header)) for column in table.columns)
    if first:
        console.print(first, style="italic")
    for row, cells in zip(
        table.rows, zip(*(column.cells for column in table.columns), strict=True), strict=True
    ):
        name, *figures = (Text.from_markup(str(cell)) for cell in cells)
        if name:
            console.print(name, style=row.style or "bold")
        line = Text()
        for heading, figure in zip(headings, figures, strict=True):
            if not figure:
                continue
            pair = Text.assemble((heading.plain, "dim"), " " * bool(heading), figure)
            if line and len(INDENT) + line.cell_len + 3 + pair.cell_len > console.width:
                console.print(Text(INDENT) + line)
                line = Text()
            line = Text(" · ").join([line, pair]) if line else pair
        if line:
            console.print(Text(INDENT) + line)
    console.print()


def make_table(
    first: str,
    *others: str,
    left: Collection[str] = (),
    ruled: bool = True,
    whole: bool = False,
) -> "Table":
    """Return a table of a column of names and columns of figures, right-aligned but for `left`.

    `ruled` draws a line below the headings; with `whole` no cell is broken over lines.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD if ruled else None, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="left" if name in left else "right", no_wrap=whole)
    return table


WORD = re.compile(r"\S+\s*")


class WholeWordConsole(Console):
    """A console that breaks text between words alone, where rich cuts words that are too long."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as rich does; break text that is printed alone."""
        if len(objects) != 1 or not isinstance(objects[0], str | Text) or "soft_wrap" in options:
            super().print(*objects, **options)
            return
        text = objects[0]
        if isinstance(text, str):
            given = {
                key: options[key] for key in ("markup", "emoji", "highlight") if key in options
            }
            text = self.render_str(text, **given)
        lines = [part for line in text.split(allow_blank=True) for part in self._break(line)]
        super().print(Text("\n").join(lines), soft_wrap=True, **options)

    def _break(self, line: Text) -> list[Text]:
        """Return the parts of a line, each as long as fits, or a single word."""
        begins, used = [], 0
        indent = cell_len(line.plain) - cell_len(line.plain.lstrip())
        for word in WORD.finditer(line.plain):
            if used and used + cell_len(word[0].rstrip()) > self.width:
                begins.append(word.start())
                used = 0
            used += indent + cell_len(word[0])
            indent = 0
        parts = list(line.divide(begins))
        for part in parts[:-1]:
            part.rstrip()
        return parts
