"""A report on a terminal: its verdict, its tables in brief, what to check and what to do next."""

import click

from assay.eval.cli.options import FULL_KEY
from assay.eval.cli.output import (
    make_console,
    make_table,
    print_table,
    print_text,
    print_warnings,
)
from assay.eval.report.blocks import Column, Facts, Listing, Report, Table, scale_bars

STYLES = {"better": "green", "worse": "red"}
MOST_FACTS = 3
LONGEST = 20  # characters of a bar
MOST_WARNINGS = 2  # shown without --full


def wants_full() -> bool:
    """Return True if the running command was given its option --full."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(FULL_KEY))


def print_report(report: Report, full: bool | None = None, *, titled: bool = True) -> None:
    """Print a report: with `full` every block, column and warning of it.

    None stands for the command's option --full. A report that is not `titled` begins with its
    verdict, which names its subject.
    """
    full = wants_full() if full is None else full
    console = make_console()
    told = ", ".join(report.subject[:MOST_FACTS])
    if titled:
        console.print(f"{report.title}{' ' * bool(told)}{told}", style="bold", markup=False)
    for line in report.verdict:
        print_text(line, "" if titled else "bold")
    if not titled:
        print_text(", ".join(filter(None, [report.title, told])), "dim")
    for block in report.blocks:
        if isinstance(block, Listing) or not (full or block.brief):
            continue
        if isinstance(block, Table):
            print_block(block, full)
        elif isinstance(block, Facts):
            for term, text in block.pairs:
                print_text(f"{term}: {text}" if term else text, indent=2)
        else:
            print_text(f"{block.title}: {block.text}" if block.title else block.text)
    shown = report.warnings if full else report.warnings[:MOST_WARNINGS]
    print_warnings(shown)
    if more := len(report.warnings) - len(shown):
        print_text(f"{more} more with --full", "dim")


def print_block(table: Table, full: bool = False) -> None:
    """Print a table: with `full` every row and column of it, and its note."""
    columns = [column for column in table.columns if full or column.brief]
    if not table.rows or not columns:
        return
    console = make_console()
    console.print(f"\n{table.title}", markup=False)
    first, *others = (column.heading for column in columns)
    left = [column.heading for column in columns if not column.numeric]
    shown = make_table(first, *others, left=left, ruled=False)
    for column, drawn in zip(columns[1:], shown.columns[1:], strict=True):
        drawn.no_wrap = column.numeric  # texts are broken between words, figures never
    if table.plot and table.plot.kind == "bar":
        shown.add_column("")
    rows = table.rows if full else table.rows[: table.most]
    bars = scale_bars(table)
    for i, row in enumerate(rows):
        bar = ["█" * round(LONGEST * bars.get(i, 0))] if bars else []
        shown.add_row(*(_mark(column, row) for column in columns), *bar)
    print_table(console, shown)
    if len(rows) < len(table.rows):
        print_text(f"the first {len(rows)} of {len(table.rows)}; --full shows all", "dim")
    if full and table.note:
        print_text(table.note)


def _mark(column: Column, row: object) -> str:
    """Return a cell as markup."""
    from rich.markup import escape

    text, interval = column.print(row)
    shown = escape(f"{text} ({interval})" if interval and interval != "–" else text)
    style = STYLES.get(column.tone(row)) if column.tone else None
    return f"[{style}]{shown}[/]" if style else shown
