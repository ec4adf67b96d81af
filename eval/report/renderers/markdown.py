"""A report as Markdown, for pull requests and for reading by programs."""

import shlex
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from assay.eval.report.blocks import MOST_ROWS, Block, Column, Facts, Listing, Report, Table
from assay.eval.report.markdown import LONG, code, fenced, plain
from assay.eval.report.provenance import describe_origin

SAFE = "/:#?&=%.,@+~-_"  # of an address: nothing that ends a link or a cell


def render(report: Report) -> str:
    """Return all of a report. Texts of others stay text: none is markup in it."""
    return "\n".join(_list_lines(report)).strip() + "\n"


def _list_lines(report: Report) -> Iterator[str]:
    yield f"# {plain(report.title, LONG)}"
    if report.description:
        yield f"\n{plain(report.description, LONG)}"
    if report.subject:
        yield f"\n{plain(' · '.join(report.subject), LONG)}"
    for line in report.warnings:
        yield f"\n> **{plain(line, LONG)}**"
    yield ""
    yield from (f"- {plain(line, LONG)}" for line in report.verdict)
    for block in report.blocks:
        yield f"\n## {plain(block.title, LONG)}\n" if block.title else ""
        yield from _list_block(block)
    if pairs := describe_origin(report):
        yield "\n## How it was made\n"
        yield from _list_facts(pairs)
    if command := report.environment.get("command"):
        yield f"| Command | {code(shlex.join(map(str, command)))} |"


def _list_block(block: Block) -> Iterator[str]:
    if isinstance(block, Table):
        yield from _list_table(block)
    elif isinstance(block, Facts):
        yield from _list_facts(block.pairs)
    elif isinstance(block, Listing):
        yield fenced(block.text, block.language)
    else:
        yield plain(block.text, LONG)


def _list_table(table: Table) -> Iterator[str]:
    yield _join([plain(column.heading, LONG) for column in table.columns])
    yield "|" + "".join("---:|" if column.numeric else "---|" for column in table.columns)
    for row in table.rows[:MOST_ROWS]:
        yield _join([_print(column, row) for column in table.columns])
    for note in table.notes:
        yield f"\n{plain(note, LONG)}"


def _print(column: Column, row: object) -> str:
    text, interval = column.print(row)
    shown = plain(f"{text} ({interval})" if interval else text, LONG)
    address = column.link(row) if column.link and text else ""
    leads = address and not address.startswith("#")  # which is a place in the page
    return f"[{shown}]({quote(address, safe=SAFE)})" if leads else shown


def _list_facts(pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield "| | |"
    yield "|---|---|"
    for term, text in pairs:
        yield _join([plain(term, LONG), plain(text, LONG)])


def _join(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
